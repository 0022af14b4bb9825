!> The constants, structures and functions of trifuse.h in Fortran, and the conversion of strings. Programs use the
!> module `trifuse` (trifuse.F90), which uses this module. Compile this file before trifuse.F90.
!>
!> All kinds are kinds of ISO_C_BINDING, so the module works with 4-byte and with 8-byte default integers
!> (-fdefault-integer-8).
module trifuse_c
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_funptr, c_int32_t, c_int64_t, c_null_char, c_null_ptr, &
    & c_ptr, c_size_t
  implicit none
  private :: c_char, c_double, c_funptr, c_int32_t, c_int64_t, c_null_char, c_null_ptr, c_ptr, c_size_t

  ! Codes of a status, see trifuse_code in trifuse.h.
  integer(c_int32_t), parameter :: trifuse_success = 0_c_int32_t, trifuse_bad_input = 1_c_int32_t
  integer(c_int32_t), parameter :: trifuse_bad_usage = 2_c_int32_t, trifuse_bad_system = 3_c_int32_t
  integer(c_int32_t), parameter :: trifuse_failed = 4_c_int32_t, trifuse_bad_handle = 5_c_int32_t

  ! Settings of a calculation, see trifuse_set_form, trifuse_set_rohf and trifuse_set_precision.
  integer(c_int32_t), parameter :: trifuse_form_auto = 0_c_int32_t, trifuse_form_spin_orbital = 1_c_int32_t
  integer(c_int32_t), parameter :: trifuse_form_spin_adapted = 2_c_int32_t
  integer(c_int32_t), parameter :: trifuse_rohf_given = 0_c_int32_t, trifuse_rohf_semicanonical = 1_c_int32_t
  integer(c_int32_t), parameter :: trifuse_rohf_nwchem = trifuse_rohf_given ! the older name
  integer(c_int32_t), parameter :: trifuse_precision_double = 0_c_int32_t, trifuse_precision_mixed = 1_c_int32_t

  ! Devices, references, kinds of amplitudes, classes of orbitals and tensors, as in trifuse.h.
  integer(c_int32_t), parameter :: trifuse_device_auto = 0_c_int32_t, trifuse_device_cpu = 1_c_int32_t
  integer(c_int32_t), parameter :: trifuse_device_cuda = 2_c_int32_t
  integer(c_int32_t), parameter :: trifuse_rhf = 0_c_int32_t, trifuse_uhf = 1_c_int32_t, trifuse_rohf = 2_c_int32_t
  integer(c_int32_t), parameter :: trifuse_ccsd = 0_c_int32_t, trifuse_regularized_ccsd = 1_c_int32_t
  integer(c_int32_t), parameter :: trifuse_lambda = 2_c_int32_t
  integer(c_int32_t), parameter :: trifuse_hole_alpha = 0_c_int32_t, trifuse_hole_beta = 1_c_int32_t
  integer(c_int32_t), parameter :: trifuse_particle_alpha = 2_c_int32_t, trifuse_particle_beta = 3_c_int32_t
  integer(c_int32_t), parameter :: trifuse_fock = 0_c_int32_t, trifuse_t1 = 1_c_int32_t
  integer(c_int32_t), parameter :: trifuse_t2 = 2_c_int32_t, trifuse_v2 = 3_c_int32_t

  ! Results of a witness.
  integer(c_int32_t), parameter :: trifuse_witness_passed = 0_c_int32_t, trifuse_witness_unknown = 1_c_int32_t
  integer(c_int32_t), parameter :: trifuse_witness_failed = 2_c_int32_t

  integer, parameter :: message_length = 1024, name_length = 64

  !> The result of a call.
  type, bind(c) :: trifuse_status
    integer(c_int32_t) :: code = 0_c_int32_t                         !< one of the codes above
    character(kind=c_char) :: message(message_length) = c_null_char  !< see trifuse_message
  end type trifuse_status

  !> A handle of converged amplitudes, usually with integrals. Only one thread at a time may use it.
  type :: trifuse_amplitudes
    type(c_ptr) :: handle = c_null_ptr  !< only for the modules of Trifuse
  end type trifuse_amplitudes

  !> A handle of a calculation. Only one thread at a time may use it.
  type :: trifuse_calculation
    type(c_ptr) :: handle = c_null_ptr  !< only for the modules of Trifuse
  end type trifuse_calculation

  !> A tile: spin orbitals of one class and one irrep.
  type, bind(c) :: trifuse_tile
    integer(c_int32_t) :: orbital_class = trifuse_hole_alpha  !< trifuse_hole_alpha to trifuse_particle_beta
    integer(c_int32_t) :: irrep = 0_c_int32_t                 !< 0 to 7
    integer(c_int64_t) :: size = 0_c_int64_t                  !< number of orbitals, at least 1
  end type trifuse_tile

  !> Describes amplitudes that the calling program holds; trifuse.h explains each component.
  type, bind(c) :: trifuse_description
    integer(c_int64_t) :: tile_count = 0_c_int64_t              !< 1 to 30000
    type(c_ptr) :: tiles = c_null_ptr                           !< c_loc of type(trifuse_tile) :: tiles(tile_count)
    type(c_ptr) :: orbital_energies = c_null_ptr                !< c_loc of real(c_double) :: energies(:), hartree
    integer(c_int32_t) :: reference = trifuse_rhf               !< trifuse_rhf, trifuse_uhf or trifuse_rohf
    integer(c_int32_t) :: kind = trifuse_ccsd                   !< trifuse_ccsd, _regularized_ccsd or _lambda
    real(c_double) :: omega2 = 0.0_c_double                     !< of regularised CCSD, hartree, 0 to 1e6; else 0
    integer(c_int32_t) :: has_integrals = 1_c_int32_t           !< 0 or 1
    integer(c_int32_t) :: has_fock = 0_c_int32_t                !< 0 or 1
    real(c_double) :: correlation_energy = 0.0_c_double         !< CCSD, hartree; 0: not known
    integer(c_int32_t) :: fock_in_triples = 0_c_int32_t         !< 1 (needs has_fock), -1, 0: not stated
    integer(c_int32_t) :: has_exchange_integrals = 0_c_int32_t  !< 0 or 1; 1 needs has_integrals
  end type trifuse_description

  !> The result of a witness, see trifuse_witness in trifuse.h.
  type, bind(c) :: c_witness
    character(kind=c_char) :: name(name_length)
    integer(c_int32_t) :: result
    real(c_double) :: value, limit
    character(kind=c_char) :: note(message_length)
  end type c_witness

  ! The functions of trifuse.h, which explains their arguments. bind(c) states their names in C.
  interface
    function c_version() bind(c, name="trifuse_version") result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function c_version
    function c_strlen(text) bind(c, name="strlen") result(length)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function c_strlen
    function c_features() bind(c, name="trifuse_features") result(bits)
      import :: c_int64_t
      integer(c_int64_t) :: bits
    end function c_features
    function c_gpu_count(status) bind(c, name="trifuse_gpu_count") result(count)
      import :: c_int64_t, trifuse_status
      type(trifuse_status), intent(inout) :: status
      integer(c_int64_t) :: count
    end function c_gpu_count
    subroutine trifuse_release_memory(status) bind(c, name="trifuse_release_memory")
      import :: trifuse_status
      type(trifuse_status), intent(inout) :: status
    end subroutine trifuse_release_memory
    function c_open(status, path) bind(c, name="trifuse_open_amplitudes") result(handle)
      import :: c_ptr, c_char, trifuse_status
      type(trifuse_status), intent(inout) :: status
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr) :: handle
    end function c_open
    function c_open_left(status, path, right) bind(c, name="trifuse_open_left_amplitudes") result(handle)
      import :: c_ptr, c_char, trifuse_status
      type(trifuse_status), intent(inout) :: status
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), value :: right
      type(c_ptr) :: handle
    end function c_open_left
    function c_open_doubtful(status, path, right) bind(c, name="trifuse_open_doubtful_amplitudes") result(handle)
      import :: c_ptr, c_char, trifuse_status
      type(trifuse_status), intent(inout) :: status
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), value :: right
      type(c_ptr) :: handle
    end function c_open_doubtful
    function c_open_unverified(status, path, is_left) bind(c, name="trifuse_open_unverified_amplitudes") result(handle)
      import :: c_ptr, c_char, c_int32_t, trifuse_status
      type(trifuse_status), intent(inout) :: status
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int32_t), value :: is_left
      type(c_ptr) :: handle
    end function c_open_unverified
    function c_witness_count(status, amplitudes) bind(c, name="trifuse_witness_count") result(count)
      import :: c_ptr, c_int64_t, trifuse_status
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: amplitudes
      integer(c_int64_t) :: count
    end function c_witness_count
    subroutine c_get_witness(status, amplitudes, index, witness) bind(c, name="trifuse_get_witness")
      import :: c_ptr, c_int64_t, trifuse_status, c_witness
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: amplitudes
      integer(c_int64_t), value :: index
      type(c_witness), intent(inout) :: witness
    end subroutine c_get_witness
    function c_new_amplitudes(status, description, reader, context) bind(c, name="trifuse_new_amplitudes") &
      & result(handle)
      import :: c_ptr, c_funptr, trifuse_status, trifuse_description
      type(trifuse_status), intent(inout) :: status
      type(trifuse_description), intent(in) :: description
      type(c_funptr), value :: reader
      type(c_ptr), value :: context
      type(c_ptr) :: handle
    end function c_new_amplitudes
    subroutine c_set_block(status, amplitudes, tensor, tiles, size, block) bind(c, name="trifuse_set_block")
      import :: c_ptr, c_int32_t, c_int64_t, c_double, trifuse_status
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: amplitudes
      integer(c_int32_t), value :: tensor
      integer(c_int64_t), intent(in) :: tiles(*)
      integer(c_int64_t), value :: size
      real(c_double), intent(in) :: block(*)
    end subroutine c_set_block
    subroutine c_get_block(status, amplitudes, tensor, tiles, size, block) bind(c, name="trifuse_get_block")
      import :: c_ptr, c_int32_t, c_int64_t, c_double, trifuse_status
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: amplitudes
      integer(c_int32_t), value :: tensor
      integer(c_int64_t), intent(in) :: tiles(*)
      integer(c_int64_t), value :: size
      real(c_double), intent(out) :: block(*)
    end subroutine c_get_block
    function c_block_count(status, amplitudes, tensor) bind(c, name="trifuse_block_count") result(count)
      import :: c_ptr, c_int32_t, c_int64_t, trifuse_status
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: amplitudes
      integer(c_int32_t), value :: tensor
      integer(c_int64_t) :: count
    end function c_block_count
    subroutine c_get_block_tiles(status, amplitudes, tensor, index, tiles, size) &
      & bind(c, name="trifuse_get_block_tiles")
      import :: c_ptr, c_int32_t, c_int64_t, trifuse_status
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: amplitudes
      integer(c_int32_t), value :: tensor
      integer(c_int64_t), value :: index
      integer(c_int64_t), intent(out) :: tiles(4), size
    end subroutine c_get_block_tiles
    function c_tile_count(status, amplitudes) bind(c, name="trifuse_tile_count") result(count)
      import :: c_ptr, c_int64_t, trifuse_status
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: amplitudes
      integer(c_int64_t) :: count
    end function c_tile_count
    subroutine c_get_tile(status, amplitudes, index, tile) bind(c, name="trifuse_get_tile")
      import :: c_ptr, c_int64_t, trifuse_status, trifuse_tile
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: amplitudes
      integer(c_int64_t), value :: index
      type(trifuse_tile), intent(out) :: tile
    end subroutine c_get_tile
    subroutine c_get_orbital_energies(status, amplitudes, count, energies) &
      & bind(c, name="trifuse_get_orbital_energies")
      import :: c_ptr, c_int64_t, c_double, trifuse_status
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: amplitudes
      integer(c_int64_t), value :: count
      real(c_double), intent(out) :: energies(*)
    end subroutine c_get_orbital_energies
    function c_correlation_energy(status, amplitudes) bind(c, name="trifuse_correlation_energy") result(energy)
      import :: c_ptr, c_double, trifuse_status
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: amplitudes
      real(c_double) :: energy
    end function c_correlation_energy
    function c_delete_amplitudes(amplitudes) bind(c, name="trifuse_delete_amplitudes") result(code)
      import :: c_ptr, c_int32_t
      type(c_ptr), intent(inout) :: amplitudes
      integer(c_int32_t) :: code
    end function c_delete_amplitudes
    function c_new_calculation(status, right, left) bind(c, name="trifuse_new_calculation") result(handle)
      import :: c_ptr, trifuse_status
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: right, left
      type(c_ptr) :: handle
    end function c_new_calculation
    function c_delete_calculation(calculation) bind(c, name="trifuse_delete_calculation") result(code)
      import :: c_ptr, c_int32_t
      type(c_ptr), intent(inout) :: calculation
      integer(c_int32_t) :: code
    end function c_delete_calculation
    subroutine c_set_option(status, calculation, name, value) bind(c, name="trifuse_set_option")
      import :: c_ptr, c_char, trifuse_status
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation
      character(kind=c_char), intent(in) :: name(*), value(*)
    end subroutine c_set_option
    subroutine c_set_omega2(status, calculation, count, omega2) bind(c, name="trifuse_set_omega2")
      import :: c_ptr, c_int64_t, c_double, trifuse_status
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation
      integer(c_int64_t), value :: count
      real(c_double), intent(in) :: omega2(*)
    end subroutine c_set_omega2
    subroutine c_set_form(status, calculation, form) bind(c, name="trifuse_set_form")
      import :: c_ptr, c_int32_t, trifuse_status
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation
      integer(c_int32_t), value :: form
    end subroutine c_set_form
    subroutine c_set_rohf(status, calculation, rohf) bind(c, name="trifuse_set_rohf")
      import :: c_ptr, c_int32_t, trifuse_status
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation
      integer(c_int32_t), value :: rohf
    end subroutine c_set_rohf
    subroutine c_set_precision(status, calculation, precision) bind(c, name="trifuse_set_precision")
      import :: c_ptr, c_int32_t, trifuse_status
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation
      integer(c_int32_t), value :: precision
    end subroutine c_set_precision
    subroutine c_set_target_error(status, calculation, target_error) &
      & bind(c, name="trifuse_set_target_error")
      import :: c_ptr, c_double, trifuse_status
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation
      real(c_double), value :: target_error
    end subroutine c_set_target_error
    subroutine c_get_error_bar(status, calculation, index, bracket_bar, paren_bar) &
      & bind(c, name="trifuse_get_error_bar")
      import :: c_ptr, c_int64_t, c_double, trifuse_status
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation
      integer(c_int64_t), value :: index
      real(c_double), intent(out) :: bracket_bar, paren_bar
    end subroutine c_get_error_bar
    subroutine c_get_uncorrected_energy(status, calculation, index, bracket_energy, paren_energy) &
      & bind(c, name="trifuse_get_uncorrected_energy")
      import :: c_ptr, c_int64_t, c_double, trifuse_status
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation
      integer(c_int64_t), value :: index
      real(c_double), intent(out) :: bracket_energy, paren_energy
    end subroutine c_get_uncorrected_energy
    subroutine c_set_device(status, calculation, device) bind(c, name="trifuse_set_device")
      import :: c_ptr, c_int32_t, trifuse_status
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation
      integer(c_int32_t), value :: device
    end subroutine c_set_device
    subroutine c_set_gpus(status, calculation, count, gpus) bind(c, name="trifuse_set_gpus")
      import :: c_ptr, c_int32_t, c_int64_t, trifuse_status
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation
      integer(c_int64_t), value :: count
      integer(c_int32_t), intent(in) :: gpus(*)
    end subroutine c_set_gpus
    subroutine c_set_threads(status, calculation, threads) bind(c, name="trifuse_set_threads")
      import :: c_ptr, c_int64_t, trifuse_status
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation
      integer(c_int64_t), value :: threads
    end subroutine c_set_threads
    subroutine c_set_tile_size(status, calculation, tile_size) bind(c, name="trifuse_set_tile_size")
      import :: c_ptr, c_int64_t, trifuse_status
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation
      integer(c_int64_t), value :: tile_size
    end subroutine c_set_tile_size
    subroutine c_set_memory(status, calculation, bytes) bind(c, name="trifuse_set_memory")
      import :: c_ptr, c_int64_t, trifuse_status
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation
      integer(c_int64_t), value :: bytes
    end subroutine c_set_memory
    subroutine c_set_journal(status, calculation, path) bind(c, name="trifuse_set_journal")
      import :: c_ptr, c_char, trifuse_status
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation
      character(kind=c_char), intent(in) :: path(*)
    end subroutine c_set_journal
    subroutine c_set_trust_input(status, calculation, trust) bind(c, name="trifuse_set_trust_input")
      import :: c_ptr, c_int32_t, trifuse_status
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation
      integer(c_int32_t), value :: trust
    end subroutine c_set_trust_input
    function c_warning_count(status, calculation) bind(c, name="trifuse_warning_count") result(count)
      import :: c_ptr, c_int64_t, trifuse_status
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation
      integer(c_int64_t) :: count
    end function c_warning_count
    subroutine c_get_warning(status, calculation, index, warning) bind(c, name="trifuse_get_warning")
      import :: c_ptr, c_char, c_int64_t, trifuse_status
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation
      integer(c_int64_t), value :: index
      character(kind=c_char), intent(inout) :: warning(*)
    end subroutine c_get_warning
    subroutine c_run(status, calculation) bind(c, name="trifuse_run")
      import :: c_ptr, trifuse_status
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation
    end subroutine c_run
    function c_energy_count(status, calculation) bind(c, name="trifuse_energy_count") result(count)
      import :: c_ptr, c_int64_t, trifuse_status
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation
      integer(c_int64_t) :: count
    end function c_energy_count
    subroutine c_get_energy(status, calculation, index, omega2, bracket_energy, paren_energy) &
      & bind(c, name="trifuse_get_energy")
      import :: c_ptr, c_int64_t, c_double, trifuse_status
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation
      integer(c_int64_t), value :: index
      real(c_double), intent(out) :: omega2, bracket_energy, paren_energy
    end subroutine c_get_energy
  end interface

contains

  !> Returns true if `text` has a null character before its end, where a C string would end too early; then `status` has
  !> the code trifuse_bad_usage and a sentence. `name`: name of the argument, for the sentence. An absent text has no
  !> null character.
  function is_cut(status, name, text) result(cut)
    type(trifuse_status), intent(inout) :: status
    character(len=*), intent(in) :: name
    character(len=*), intent(in), optional :: text
    logical :: cut
    cut = .false.
    if (.not. present(text)) return
    ! Blanks and null characters after the first null character are no part of the text.
    if (index(text, c_null_char) > 0) cut = verify(text(index(text, c_null_char):), c_null_char//" ") > 0
    if (.not. cut) return
    call refuse(status, name//" contains a null character, char(0), at which C cuts it off; remove this character.")
  end function is_cut

  !> Sets the status of a call that is not possible.
  subroutine refuse(status, sentence)
    type(trifuse_status), intent(inout) :: status
    character(len=*), intent(in) :: sentence
    status%code = trifuse_bad_usage
    status%message = c_null_char
    status%message(:len(sentence) + 1) = terminated(sentence)
  end subroutine refuse

  !> Returns `text` without trailing blanks and with a null character at the end.
  function terminated(text) result(characters)
    character(len=*), intent(in) :: text
    character(kind=c_char) :: characters(len_trim(text) + 1)
    integer :: i
    do i = 1, len_trim(text)
      characters(i) = text(i:i)
    end do
    characters(len_trim(text) + 1) = c_null_char
  end function terminated

  !> Returns the characters before the first null character.
  function up_to_null(characters) result(text)
    character(kind=c_char), intent(in) :: characters(:)
    character(len=:), allocatable :: text
    integer :: length
    do length = 0, size(characters) - 1
      if (characters(length + 1) == c_null_char) exit
    end do
    text = joined(characters(:length))
  end function up_to_null

  !> Converts an array of characters to a string.
  function joined(characters) result(text)
    character(kind=c_char), intent(in) :: characters(:)
    character(len=size(characters)) :: text
    integer :: i
    do i = 1, size(characters)
      text(i:i) = characters(i)
    end do
  end function joined

end module trifuse_c

!> Trifuse from Fortran: each procedure is one function of trifuse.h, with Fortran strings and arrays.
!>
!> All kinds are those of ISO_C_BINDING, so the module serves programs with 4-byte and with 8-byte default integers
!> (-fdefault-integer-8) alike. Energies are in hartree. On failure `status%code` is not `trifuse_success` and
!> `trifuse_message(status)` is one sentence.
module trifuse
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_f_pointer, c_funptr, c_int32_t, c_int64_t, c_null_char, &
    & c_null_funptr, c_null_ptr, c_ptr, c_size_t
  implicit none
  private

  public :: trifuse_status, trifuse_amplitudes, trifuse_calculation
  public :: trifuse_version, trifuse_features
  public :: trifuse_open_amplitudes, trifuse_open_left_amplitudes, trifuse_delete_amplitudes, trifuse_correlation_energy
  public :: trifuse_tile, trifuse_description, trifuse_new_amplitudes, trifuse_set_block, trifuse_get_block
  public :: trifuse_block_count, trifuse_get_block_tiles, trifuse_tile_count, trifuse_get_tile
  public :: trifuse_get_orbital_energies, trifuse_open_doubtful_amplitudes
  public :: trifuse_witness, trifuse_witness_count, trifuse_get_witness
  public :: trifuse_new_calculation, trifuse_delete_calculation, trifuse_run
  public :: trifuse_set_omega2, trifuse_set_form, trifuse_set_rohf, trifuse_set_threads, trifuse_set_tile_size
  public :: trifuse_set_device, trifuse_set_gpus, trifuse_set_memory, trifuse_set_journal, trifuse_set_trust_input
  public :: trifuse_energy_count, trifuse_get_energy, trifuse_warning_count, trifuse_get_warning

  integer(c_int32_t), parameter, public :: trifuse_success = 0_c_int32_t
  integer(c_int32_t), parameter, public :: trifuse_bad_input = 1_c_int32_t
  integer(c_int32_t), parameter, public :: trifuse_bad_usage = 2_c_int32_t
  integer(c_int32_t), parameter, public :: trifuse_bad_system = 3_c_int32_t
  integer(c_int32_t), parameter, public :: trifuse_failed = 4_c_int32_t
  integer(c_int32_t), parameter, public :: trifuse_bad_handle = 5_c_int32_t

  integer(c_int32_t), parameter, public :: trifuse_form_auto = 0_c_int32_t
  integer(c_int32_t), parameter, public :: trifuse_form_spin_orbital = 1_c_int32_t
  integer(c_int32_t), parameter, public :: trifuse_form_spin_adapted = 2_c_int32_t
  integer(c_int32_t), parameter, public :: trifuse_rohf_nwchem = 0_c_int32_t
  integer(c_int32_t), parameter, public :: trifuse_rohf_semicanonical = 1_c_int32_t

  integer(c_int32_t), parameter, public :: trifuse_device_auto = 0_c_int32_t
  integer(c_int32_t), parameter, public :: trifuse_device_cpu = 1_c_int32_t
  integer(c_int32_t), parameter, public :: trifuse_device_cuda = 2_c_int32_t
  integer(c_int32_t), parameter, public :: trifuse_rhf = 0_c_int32_t
  integer(c_int32_t), parameter, public :: trifuse_uhf = 1_c_int32_t
  integer(c_int32_t), parameter, public :: trifuse_rohf = 2_c_int32_t
  integer(c_int32_t), parameter, public :: trifuse_ccsd = 0_c_int32_t
  integer(c_int32_t), parameter, public :: trifuse_regularized_ccsd = 1_c_int32_t
  integer(c_int32_t), parameter, public :: trifuse_lambda = 2_c_int32_t
  integer(c_int32_t), parameter, public :: trifuse_hole_alpha = 0_c_int32_t
  integer(c_int32_t), parameter, public :: trifuse_hole_beta = 1_c_int32_t
  integer(c_int32_t), parameter, public :: trifuse_particle_alpha = 2_c_int32_t
  integer(c_int32_t), parameter, public :: trifuse_particle_beta = 3_c_int32_t
  integer(c_int32_t), parameter, public :: trifuse_fock = 0_c_int32_t
  integer(c_int32_t), parameter, public :: trifuse_t1 = 1_c_int32_t
  integer(c_int32_t), parameter, public :: trifuse_t2 = 2_c_int32_t
  integer(c_int32_t), parameter, public :: trifuse_v2 = 3_c_int32_t

  integer(c_int32_t), parameter, public :: trifuse_witness_passed = 0_c_int32_t
  integer(c_int32_t), parameter, public :: trifuse_witness_unknown = 1_c_int32_t
  integer(c_int32_t), parameter, public :: trifuse_witness_failed = 2_c_int32_t

  integer, parameter :: message_length = 1024, name_length = 64

  !> What became of a call.
  type, bind(c) :: trifuse_status
    integer(c_int32_t) :: code = 0_c_int32_t
    character(kind=c_char) :: message(message_length) = c_null_char
  end type trifuse_status

  !> Spin orbitals of one class and one irrep, as in trifuse.h.
  type, bind(c) :: trifuse_tile
    integer(c_int32_t) :: orbital_class = trifuse_hole_alpha
    integer(c_int32_t) :: irrep = 0_c_int32_t
    integer(c_int64_t) :: size = 0_c_int64_t
  end type trifuse_tile

  !> Amplitudes that the calling program holds, as in trifuse.h: `tiles` and `orbital_energies` are c_loc of arrays.
  type, bind(c) :: trifuse_description
    integer(c_int64_t) :: tile_count = 0_c_int64_t
    type(c_ptr) :: tiles = c_null_ptr
    type(c_ptr) :: orbital_energies = c_null_ptr
    integer(c_int32_t) :: reference = trifuse_rhf
    integer(c_int32_t) :: kind = trifuse_ccsd
    real(c_double) :: omega2 = 0.0_c_double
    integer(c_int32_t) :: has_integrals = 1_c_int32_t
    integer(c_int32_t) :: has_fock = 0_c_int32_t
    real(c_double) :: correlation_energy = 0.0_c_double
    integer(c_int32_t) :: fock_in_triples = 0_c_int32_t
    integer(c_int32_t) :: has_exchange_integrals = 0_c_int32_t
  end type trifuse_description

  !> What a witness said, as in trifuse.h: value and limit are not a number where there is none.
  type :: trifuse_witness
    character(len=:), allocatable :: name
    integer(c_int32_t) :: result = trifuse_witness_unknown
    real(c_double) :: value = 0.0_c_double
    real(c_double) :: limit = 0.0_c_double
    character(len=:), allocatable :: note
  end type trifuse_witness

  type, bind(c) :: c_witness
    character(kind=c_char) :: name(name_length)
    integer(c_int32_t) :: result
    real(c_double) :: value, limit
    character(kind=c_char) :: note(message_length)
  end type c_witness

  !> Converged amplitudes; see trifuse_open_amplitudes.
  type :: trifuse_amplitudes
    private
    type(c_ptr) :: handle = c_null_ptr
  end type trifuse_amplitudes

  !> A calculation; see trifuse_new_calculation.
  type :: trifuse_calculation
    private
    type(c_ptr) :: handle = c_null_ptr
  end type trifuse_calculation

  public :: trifuse_message

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

  !> "0.1.0"
  function trifuse_version() result(text)
    character(len=:), allocatable :: text
    type(c_ptr) :: pointer
    character(kind=c_char), pointer :: characters(:)
    pointer = c_version()
    call c_f_pointer(pointer, characters, [c_strlen(pointer)])
    text = joined(characters)
  end function trifuse_version

  !> Bits of compiled-in features, as in trifuse.h.
  function trifuse_features() result(bits)
    integer(c_int64_t) :: bits
    bits = c_features()
  end function trifuse_features

  !> The sentence of a status; empty on success.
  function trifuse_message(status) result(text)
    type(trifuse_status), intent(in) :: status
    character(len=:), allocatable :: text
    text = up_to_null(status%message)
  end function trifuse_message

  !> A dump, or the prefix or directory of NWChem's files.
  subroutine trifuse_open_amplitudes(status, amplitudes, path)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_amplitudes), intent(out) :: amplitudes
    character(len=*), intent(in) :: path
    amplitudes%handle = c_open(status, terminated(path))
  end subroutine trifuse_open_amplitudes

  !> Amplitudes for the left side, over the integrals of `right`.
  subroutine trifuse_open_left_amplitudes(status, amplitudes, path, right)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_amplitudes), intent(out) :: amplitudes
    character(len=*), intent(in) :: path
    type(trifuse_amplitudes), intent(in) :: right
    amplitudes%handle = c_open_left(status, terminated(path), right%handle)
  end subroutine trifuse_open_left_amplitudes

  !> As the two before, with and without `right`, but a failed witness is no error before trifuse_run.
  subroutine trifuse_open_doubtful_amplitudes(status, amplitudes, path, right)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_amplitudes), intent(out) :: amplitudes
    character(len=*), intent(in) :: path
    type(trifuse_amplitudes), intent(in), optional :: right
    type(c_ptr) :: right_handle
    right_handle = c_null_ptr
    if (present(right)) right_handle = right%handle
    amplitudes%handle = c_open_doubtful(status, terminated(path), right_handle)
  end subroutine trifuse_open_doubtful_amplitudes

  !> Number of witnesses of the last check of these amplitudes, which are checked now if they have not been.
  subroutine trifuse_witness_count(status, amplitudes, count)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_amplitudes), intent(in) :: amplitudes
    integer(c_int64_t), intent(out) :: count
    count = c_witness_count(status, amplitudes%handle)
  end subroutine trifuse_witness_count

  !> Witness number `index`, from 1 here.
  subroutine trifuse_get_witness(status, amplitudes, index, witness)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_amplitudes), intent(in) :: amplitudes
    integer(c_int64_t), intent(in) :: index
    type(trifuse_witness), intent(out) :: witness
    type(c_witness) :: found
    found%name = c_null_char
    found%result = trifuse_witness_unknown
    found%value = 0.0_c_double
    found%limit = 0.0_c_double
    found%note = c_null_char
    call c_get_witness(status, amplitudes%handle, index - 1_c_int64_t, found)
    witness%name = up_to_null(found%name)
    witness%result = found%result
    witness%value = found%value
    witness%limit = found%limit
    witness%note = up_to_null(found%note)
  end subroutine trifuse_get_witness

  !> Amplitudes in the calling program, delivered by `reader` (c_funloc of a function that is bind(c), see trifuse.h), to
  !> which `context` is handed; or set block by block where there is no reader.
  subroutine trifuse_new_amplitudes(status, amplitudes, description, reader, context)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_amplitudes), intent(out) :: amplitudes
    type(trifuse_description), intent(in) :: description
    type(c_funptr), intent(in), optional :: reader
    type(c_ptr), intent(in), optional :: context
    type(c_funptr) :: the_reader
    type(c_ptr) :: the_context
    the_reader = c_null_funptr
    the_context = c_null_ptr
    if (present(reader)) the_reader = reader
    if (present(context)) the_context = context
    amplitudes%handle = c_new_amplitudes(status, description, the_reader, the_context)
  end subroutine trifuse_new_amplitudes

  !> Copies a block into amplitudes without a reader. Tiles are numbers from 0, as in trifuse.h, the last two of a matrix
  !> without meaning; a Fortran array of the block has the last index of trifuse.h first.
  subroutine trifuse_set_block(status, amplitudes, tensor, tiles, block)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_amplitudes), intent(in) :: amplitudes
    integer(c_int32_t), intent(in) :: tensor
    integer(c_int64_t), intent(in) :: tiles(4)
    real(c_double), intent(in) :: block(:)
    call c_set_block(status, amplitudes%handle, tensor, tiles, size(block, kind=c_int64_t), block)
  end subroutine trifuse_set_block

  !> Copies a block out of any amplitudes.
  subroutine trifuse_get_block(status, amplitudes, tensor, tiles, block)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_amplitudes), intent(in) :: amplitudes
    integer(c_int32_t), intent(in) :: tensor
    integer(c_int64_t), intent(in) :: tiles(4)
    real(c_double), intent(out) :: block(:)
    call c_get_block(status, amplitudes%handle, tensor, tiles, size(block, kind=c_int64_t), block)
  end subroutine trifuse_get_block

  !> Number of blocks of a tensor.
  subroutine trifuse_block_count(status, amplitudes, tensor, count)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_amplitudes), intent(in) :: amplitudes
    integer(c_int32_t), intent(in) :: tensor
    integer(c_int64_t), intent(out) :: count
    count = c_block_count(status, amplitudes%handle, tensor)
  end subroutine trifuse_block_count

  !> Tiles (from 0; matrices have two) and size of block number `index`, from 1 here.
  subroutine trifuse_get_block_tiles(status, amplitudes, tensor, index, tiles, block_size)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_amplitudes), intent(in) :: amplitudes
    integer(c_int32_t), intent(in) :: tensor
    integer(c_int64_t), intent(in) :: index
    integer(c_int64_t), intent(out) :: tiles(4), block_size
    call c_get_block_tiles(status, amplitudes%handle, tensor, index - 1_c_int64_t, tiles, block_size)
  end subroutine trifuse_get_block_tiles

  subroutine trifuse_tile_count(status, amplitudes, count)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_amplitudes), intent(in) :: amplitudes
    integer(c_int64_t), intent(out) :: count
    count = c_tile_count(status, amplitudes%handle)
  end subroutine trifuse_tile_count

  !> Tile number `index`, from 1 here.
  subroutine trifuse_get_tile(status, amplitudes, index, tile)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_amplitudes), intent(in) :: amplitudes
    integer(c_int64_t), intent(in) :: index
    type(trifuse_tile), intent(out) :: tile
    call c_get_tile(status, amplitudes%handle, index - 1_c_int64_t, tile)
  end subroutine trifuse_get_tile

  !> As many as there are orbitals, hartree.
  subroutine trifuse_get_orbital_energies(status, amplitudes, energies)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_amplitudes), intent(in) :: amplitudes
    real(c_double), intent(out) :: energies(:)
    call c_get_orbital_energies(status, amplitudes%handle, size(energies, kind=c_int64_t), energies)
  end subroutine trifuse_get_orbital_energies

  !> A calculation keeps the amplitudes that it was made with, so they may be deleted before it. `code`, where it is
  !> there, becomes trifuse_bad_handle where a copy of these was deleted before.
  subroutine trifuse_delete_amplitudes(amplitudes, code)
    type(trifuse_amplitudes), intent(inout) :: amplitudes
    integer(c_int32_t), intent(out), optional :: code
    integer(c_int32_t) :: found
    found = c_delete_amplitudes(amplitudes%handle)
    if (present(code)) code = found
  end subroutine trifuse_delete_amplitudes

  !> CCSD correlation energy of the amplitudes, hartree.
  subroutine trifuse_correlation_energy(status, amplitudes, energy)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_amplitudes), intent(in) :: amplitudes
    real(c_double), intent(out) :: energy
    energy = c_correlation_energy(status, amplitudes%handle)
  end subroutine trifuse_correlation_energy

  !> Without `left` both sides have the same amplitudes.
  subroutine trifuse_new_calculation(status, calculation, right, left)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(out) :: calculation
    type(trifuse_amplitudes), intent(in) :: right
    type(trifuse_amplitudes), intent(in), optional :: left
    type(c_ptr) :: left_handle
    left_handle = c_null_ptr
    if (present(left)) left_handle = left%handle
    calculation%handle = c_new_calculation(status, right%handle, left_handle)
  end subroutine trifuse_new_calculation

  subroutine trifuse_delete_calculation(calculation, code)
    type(trifuse_calculation), intent(inout) :: calculation
    integer(c_int32_t), intent(out), optional :: code
    integer(c_int32_t) :: found
    found = c_delete_calculation(calculation%handle)
    if (present(code)) code = found
  end subroutine trifuse_delete_calculation

  subroutine trifuse_set_omega2(status, calculation, omega2)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    real(c_double), intent(in) :: omega2(:)
    call c_set_omega2(status, calculation%handle, size(omega2, kind=c_int64_t), omega2)
  end subroutine trifuse_set_omega2

  subroutine trifuse_set_form(status, calculation, form)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int32_t), intent(in) :: form
    call c_set_form(status, calculation%handle, form)
  end subroutine trifuse_set_form

  subroutine trifuse_set_rohf(status, calculation, rohf)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int32_t), intent(in) :: rohf
    call c_set_rohf(status, calculation%handle, rohf)
  end subroutine trifuse_set_rohf

  !> One of trifuse_device_auto, _cpu and _cuda.
  subroutine trifuse_set_device(status, calculation, device)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int32_t), intent(in) :: device
    call c_set_device(status, calculation%handle, device)
  end subroutine trifuse_set_device

  !> Numbers of GPUs, as CUDA counts them from 0.
  subroutine trifuse_set_gpus(status, calculation, gpus)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int32_t), intent(in) :: gpus(:)
    call c_set_gpus(status, calculation%handle, size(gpus, kind=c_int64_t), gpus)
  end subroutine trifuse_set_gpus

  subroutine trifuse_set_threads(status, calculation, threads)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int64_t), intent(in) :: threads
    call c_set_threads(status, calculation%handle, threads)
  end subroutine trifuse_set_threads

  subroutine trifuse_set_tile_size(status, calculation, tile_size)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int64_t), intent(in) :: tile_size
    call c_set_tile_size(status, calculation%handle, tile_size)
  end subroutine trifuse_set_tile_size

  subroutine trifuse_set_memory(status, calculation, bytes)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int64_t), intent(in) :: bytes
    call c_set_memory(status, calculation%handle, bytes)
  end subroutine trifuse_set_memory

  subroutine trifuse_set_journal(status, calculation, path)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    character(len=*), intent(in) :: path
    call c_set_journal(status, calculation%handle, terminated(path))
  end subroutine trifuse_set_journal

  subroutine trifuse_run(status, calculation)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    call c_run(status, calculation%handle)
  end subroutine trifuse_run

  !> Whether to go on after a failed witness, or with a (T) that contradicts the printed one; a warning says so.
  subroutine trifuse_set_trust_input(status, calculation, trust)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    logical, intent(in) :: trust
    call c_set_trust_input(status, calculation%handle, merge(1_c_int32_t, 0_c_int32_t, trust))
  end subroutine trifuse_set_trust_input

  !> Number of warnings of the last run.
  subroutine trifuse_warning_count(status, calculation, count)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int64_t), intent(out) :: count
    count = c_warning_count(status, calculation%handle)
  end subroutine trifuse_warning_count

  !> Warning number `index`, from 1 here: one sentence.
  subroutine trifuse_get_warning(status, calculation, index, warning)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int64_t), intent(in) :: index
    character(len=:), allocatable, intent(out) :: warning
    character(kind=c_char) :: text(message_length)
    text = c_null_char
    call c_get_warning(status, calculation%handle, index - 1_c_int64_t, text)
    warning = up_to_null(text)
  end subroutine trifuse_get_warning

  !> Number of energies of the last run.
  subroutine trifuse_energy_count(status, calculation, count)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int64_t), intent(out) :: count
    count = c_energy_count(status, calculation%handle)
  end subroutine trifuse_energy_count

  !> Energies number `index`, from 1 here, of the last run: [T] and (T), hartree.
  subroutine trifuse_get_energy(status, calculation, index, omega2, bracket_energy, paren_energy)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int64_t), intent(in) :: index
    real(c_double), intent(out) :: omega2, bracket_energy, paren_energy
    call c_get_energy(status, calculation%handle, index - 1_c_int64_t, omega2, bracket_energy, paren_energy)
  end subroutine trifuse_get_energy

  function terminated(text) result(characters)
    character(len=*), intent(in) :: text
    character(kind=c_char) :: characters(len_trim(text) + 1)
    integer :: i
    do i = 1, len_trim(text)
      characters(i) = text(i:i)
    end do
    characters(len_trim(text) + 1) = c_null_char
  end function terminated

  !> The characters before the first null.
  function up_to_null(characters) result(text)
    character(kind=c_char), intent(in) :: characters(:)
    character(len=:), allocatable :: text
    integer :: length
    do length = 0, size(characters) - 1
      if (characters(length + 1) == c_null_char) exit
    end do
    text = joined(characters(:length))
  end function up_to_null

  function joined(characters) result(text)
    character(kind=c_char), intent(in) :: characters(:)
    character(len=size(characters)) :: text
    integer :: i
    do i = 1, size(characters)
      text(i:i) = characters(i)
    end do
  end function joined

end module trifuse

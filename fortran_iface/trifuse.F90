!> Trifuse from Fortran. Each procedure calls one function of trifuse.h, with Fortran strings and arrays.
!>
!> All kinds are kinds of ISO_C_BINDING, so the module works with 4-byte and with 8-byte default integers
!> (-fdefault-integer-8). Energies and integrals are in hartree.
!>
!> Errors: on failure `status%code` is not `trifuse_success`, and `trifuse_message(status)` is one sentence. Then output
!> arguments have no meaning. No procedure ends the program. A path with a null character before its end is refused.
!>
!> Numbers `index` of blocks, tiles, witnesses, warnings and energies start at 1 here, and at 0 in trifuse.h. Numbers of
!> tiles in `tiles(4)` and numbers of GPUs start at 0, as in trifuse.h.
!>
!> Blocks have the same layout in memory as in trifuse.h. There arrays have C order, the last index fastest; a Fortran
!> array has the same indices in the reverse order:
!>
!>     trifuse_fock  C f[g6,g5]          Fortran f(g5,g6)
!>     trifuse_t1    C t1[p,h]           Fortran t1(h,p)
!>     trifuse_t2    C t2[p1,p2,h3,h4]   Fortran t2(h4,h3,p2,p1)
!>     trifuse_v2    C v2[g3,g4,g1,g2]   Fortran v2(g2,g1,g4,g3)
module trifuse
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_f_pointer, c_funptr, c_int32_t, c_int64_t, c_null_char, &
    & c_null_funptr, c_null_ptr, c_ptr
  use trifuse_c
  implicit none
  private

  public :: trifuse_amplitudes, trifuse_calculation
  public :: trifuse_version, trifuse_features, trifuse_gpu_count, trifuse_release_memory, trifuse_message
  public :: trifuse_open_amplitudes, trifuse_open_left_amplitudes, trifuse_delete_amplitudes, trifuse_correlation_energy
  public :: trifuse_new_amplitudes, trifuse_set_block, trifuse_get_block
  public :: trifuse_block_count, trifuse_get_block_tiles, trifuse_tile_count, trifuse_get_tile
  public :: trifuse_get_orbital_energies, trifuse_open_doubtful_amplitudes, trifuse_open_unverified_amplitudes
  public :: trifuse_witness, trifuse_witness_count, trifuse_get_witness
  public :: trifuse_new_calculation, trifuse_delete_calculation, trifuse_run
  public :: trifuse_set_option, trifuse_set_omega2, trifuse_set_form, trifuse_set_rohf
  public :: trifuse_set_threads, trifuse_set_tile_size
  public :: trifuse_set_device, trifuse_set_gpus, trifuse_set_memory, trifuse_set_journal, trifuse_set_trust_input
  public :: trifuse_energy_count, trifuse_get_energy, trifuse_warning_count, trifuse_get_warning

  ! Structures and constants of the module trifuse_c.
  public :: trifuse_status, trifuse_tile, trifuse_description
  public :: trifuse_success, trifuse_bad_input, trifuse_bad_usage, trifuse_bad_system
  public :: trifuse_failed, trifuse_bad_handle
  public :: trifuse_form_auto, trifuse_form_spin_orbital, trifuse_form_spin_adapted
  public :: trifuse_rohf_given, trifuse_rohf_semicanonical, trifuse_rohf_nwchem
  public :: trifuse_device_auto, trifuse_device_cpu, trifuse_device_cuda
  public :: trifuse_rhf, trifuse_uhf, trifuse_rohf
  public :: trifuse_ccsd, trifuse_regularized_ccsd, trifuse_lambda
  public :: trifuse_hole_alpha, trifuse_hole_beta, trifuse_particle_alpha, trifuse_particle_beta
  public :: trifuse_fock, trifuse_t1, trifuse_t2, trifuse_v2
  public :: trifuse_witness_passed, trifuse_witness_unknown, trifuse_witness_failed

  !> The result of a witness, a relation that correct amplitudes and integrals satisfy.
  type :: trifuse_witness
    character(len=:), allocatable :: name                   !< e.g. "singles equation"
    integer(c_int32_t) :: result = trifuse_witness_unknown  !< trifuse_witness_passed, _unknown or _failed
    real(c_double) :: value = 0.0_c_double                  !< measured value; NaN if there is none
    real(c_double) :: limit = 0.0_c_double                  !< limit of the value; NaN if there is none
    character(len=:), allocatable :: note                   !< failed: a sentence; unknown: why; passed: a second value
  end type trifuse_witness

contains

  !> Returns the version, e.g. "0.3.0".
  function trifuse_version() result(text)
    character(len=:), allocatable :: text
    type(c_ptr) :: pointer
    character(kind=c_char), pointer :: characters(:)
    pointer = c_version()
    call c_f_pointer(pointer, characters, [c_strlen(pointer)])
    text = joined(characters)
  end function trifuse_version

  !> Returns the compiled-in features, the sum of their bits: 1 CUDA, 2 MPI, 4 Fortran.
  function trifuse_features() result(bits)
    integer(c_int64_t) :: bits
    bits = c_features()
  end function trifuse_features

  !> Gets the number of GPUs that can be used: supported ones that CUDA sees. 0 without CUDA.
  subroutine trifuse_gpu_count(status, count)
    type(trifuse_status), intent(inout) :: status
    integer(c_int64_t), intent(out) :: count
    count = c_gpu_count(status)
  end subroutine trifuse_gpu_count

  !> Returns the sentence of a status; empty on success.
  function trifuse_message(status) result(text)
    type(trifuse_status), intent(in) :: status
    character(len=:), allocatable :: text
    text = up_to_null(status%message)
  end function trifuse_message

  !> Opens amplitudes with integrals in files, and verifies them (see trifuse.h).
  !>
  !> `path`: a Trifuse dump (HDF5), or the prefix or the directory of NWChem's files; trailing blanks are ignored.
  subroutine trifuse_open_amplitudes(status, amplitudes, path)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_amplitudes), intent(out) :: amplitudes
    character(len=*), intent(in) :: path
    if (is_cut(status, "path", path)) return
    amplitudes%handle = c_open(status, terminated(path))
  end subroutine trifuse_open_amplitudes

  !> Opens left amplitudes, which need no integrals. They are verified with the integrals of `right`.
  !>
  !> `path`: as in trifuse_open_amplitudes. `right`: right amplitudes with integrals.
  subroutine trifuse_open_left_amplitudes(status, amplitudes, path, right)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_amplitudes), intent(out) :: amplitudes
    character(len=*), intent(in) :: path
    type(trifuse_amplitudes), intent(in) :: right
    if (is_cut(status, "path", path)) return
    amplitudes%handle = c_open_left(status, terminated(path), right%handle)
  end subroutine trifuse_open_left_amplitudes

  !> Opens amplitudes even if a witness fails. trifuse_run then fails, unless trifuse_set_trust_input allows it to
  !> continue.
  !>
  !> `path`: as in trifuse_open_amplitudes. `right`: right amplitudes if these are left amplitudes; else absent.
  subroutine trifuse_open_doubtful_amplitudes(status, amplitudes, path, right)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_amplitudes), intent(out) :: amplitudes
    character(len=*), intent(in) :: path
    type(trifuse_amplitudes), intent(in), optional :: right
    type(c_ptr) :: right_handle
    right_handle = c_null_ptr
    if (present(right)) right_handle = right%handle
    if (is_cut(status, "path", path)) return
    amplitudes%handle = c_open_doubtful(status, terminated(path), right_handle)
  end subroutine trifuse_open_doubtful_amplitudes

  !> Opens amplitudes and leaves their verification to their first use, for example trifuse_run.
  !>
  !> `path`: as in trifuse_open_amplitudes. `is_left`: .true.: left amplitudes, which need no integrals.
  subroutine trifuse_open_unverified_amplitudes(status, amplitudes, path, is_left)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_amplitudes), intent(out) :: amplitudes
    character(len=*), intent(in) :: path
    logical, intent(in) :: is_left
    if (is_cut(status, "path", path)) return
    amplitudes%handle = c_open_unverified(status, terminated(path), merge(1_c_int32_t, 0_c_int32_t, is_left))
  end subroutine trifuse_open_unverified_amplitudes

  !> Gets the number of witnesses of the last check. Checks the amplitudes first if they have not been checked.
  subroutine trifuse_witness_count(status, amplitudes, count)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_amplitudes), intent(in) :: amplitudes
    integer(c_int64_t), intent(out) :: count
    count = c_witness_count(status, amplitudes%handle)
  end subroutine trifuse_witness_count

  !> Gets witness number `index`, 1 to `count` of trifuse_witness_count.
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

  !> Makes amplitudes from blocks of the calling program. They are verified before their first use.
  !>
  !> `description`: everything in it is copied. `reader`: c_funloc of a bind(c) function that delivers the blocks, see
  !> trifuse_block_reader in trifuse.h; absent: the caller sets them with trifuse_set_block. `context`: passed to
  !> `reader`.
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

  !> Copies one block into amplitudes of trifuse_new_amplitudes without a reader.
  !>
  !> `tensor`: trifuse_fock, trifuse_t1, trifuse_t2 or trifuse_v2. `tiles`: numbers of the tiles, from 0, in the order
  !> of the C indices: p1, p2, h3, h4 for T2; the last two have no meaning for trifuse_fock and trifuse_t1. `block`: all
  !> elements in the order of memory, e.g. of an array t2(h4,h3,p2,p1).
  subroutine trifuse_set_block(status, amplitudes, tensor, tiles, block)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_amplitudes), intent(in) :: amplitudes
    integer(c_int32_t), intent(in) :: tensor
    integer(c_int64_t), intent(in) :: tiles(4)
    real(c_double), intent(in) :: block(:)
    call c_set_block(status, amplitudes%handle, tensor, tiles, size(block, kind=c_int64_t), block)
  end subroutine trifuse_set_block

  !> Copies one block of any amplitudes to `block`. Arguments as in trifuse_set_block.
  subroutine trifuse_get_block(status, amplitudes, tensor, tiles, block)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_amplitudes), intent(in) :: amplitudes
    integer(c_int32_t), intent(in) :: tensor
    integer(c_int64_t), intent(in) :: tiles(4)
    real(c_double), intent(out) :: block(:)
    call c_get_block(status, amplitudes%handle, tensor, tiles, size(block, kind=c_int64_t), block)
  end subroutine trifuse_get_block

  !> Gets the number of blocks of a tensor that spin and symmetry allow and that the triples need. `tensor`: as in
  !> trifuse_set_block.
  subroutine trifuse_block_count(status, amplitudes, tensor, count)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_amplitudes), intent(in) :: amplitudes
    integer(c_int32_t), intent(in) :: tensor
    integer(c_int64_t), intent(out) :: count
    count = c_block_count(status, amplitudes%handle, tensor)
  end subroutine trifuse_block_count

  !> Gets the tiles and the size of block number `index`, 1 to `count` of trifuse_block_count.
  !>
  !> `tensor`, `tiles`: as in trifuse_set_block. `block_size`: number of elements.
  subroutine trifuse_get_block_tiles(status, amplitudes, tensor, index, tiles, block_size)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_amplitudes), intent(in) :: amplitudes
    integer(c_int32_t), intent(in) :: tensor
    integer(c_int64_t), intent(in) :: index
    integer(c_int64_t), intent(out) :: tiles(4), block_size
    call c_get_block_tiles(status, amplitudes%handle, tensor, index - 1_c_int64_t, tiles, block_size)
  end subroutine trifuse_get_block_tiles

  !> Gets the number of tiles of any amplitudes.
  subroutine trifuse_tile_count(status, amplitudes, count)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_amplitudes), intent(in) :: amplitudes
    integer(c_int64_t), intent(out) :: count
    count = c_tile_count(status, amplitudes%handle)
  end subroutine trifuse_tile_count

  !> Gets tile number `index`, 1 to `count` of trifuse_tile_count. The same tile has the number index - 1 in `tiles(4)`.
  subroutine trifuse_get_tile(status, amplitudes, index, tile)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_amplitudes), intent(in) :: amplitudes
    integer(c_int64_t), intent(in) :: index
    type(trifuse_tile), intent(out) :: tile
    call c_get_tile(status, amplitudes%handle, index - 1_c_int64_t, tile)
  end subroutine trifuse_get_tile

  !> Gets the orbital energies in the order of the tiles, hartree. `energies` must have as many elements as there are
  !> orbitals.
  subroutine trifuse_get_orbital_energies(status, amplitudes, energies)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_amplitudes), intent(in) :: amplitudes
    real(c_double), intent(out) :: energies(:)
    call c_get_orbital_energies(status, amplitudes%handle, size(energies, kind=c_int64_t), energies)
  end subroutine trifuse_get_orbital_energies

  !> Deletes amplitudes. A calculation keeps its amplitudes, so they may be deleted before the calculation.
  !>
  !> `code`: trifuse_success, or trifuse_bad_handle if a copy of this handle was deleted before.
  subroutine trifuse_delete_amplitudes(amplitudes, code)
    type(trifuse_amplitudes), intent(inout) :: amplitudes
    integer(c_int32_t), intent(out), optional :: code
    integer(c_int32_t) :: found
    found = c_delete_amplitudes(amplitudes%handle)
    if (present(code)) code = found
  end subroutine trifuse_delete_amplitudes

  !> Gets the CCSD correlation energy of these amplitudes, hartree, recomputed from their numbers. Fails if a witness
  !> failed, or if the amplitudes have no such energy.
  subroutine trifuse_correlation_energy(status, amplitudes, energy)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_amplitudes), intent(in) :: amplitudes
    real(c_double), intent(out) :: energy
    energy = c_correlation_energy(status, amplitudes%handle)
  end subroutine trifuse_correlation_energy

  !> Makes a calculation. `right`: right amplitudes with integrals. `left`: left amplitudes; absent: the right
  !> amplitudes.
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

  !> Deletes a calculation. `code`: as in trifuse_delete_amplitudes.
  subroutine trifuse_delete_calculation(calculation, code)
    type(trifuse_calculation), intent(inout) :: calculation
    integer(c_int32_t), intent(out), optional :: code
    integer(c_int32_t) :: found
    found = c_delete_calculation(calculation%handle)
    if (present(code)) code = found
  end subroutine trifuse_delete_calculation

  !> Sets any option by its name, see trifuse_set_option in trifuse.h: call trifuse_set_option(status, calculation,
  !> "precision", "mixed").
  subroutine trifuse_set_option(status, calculation, name, value)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    character(len=*), intent(in) :: name, value
    if (is_cut(status, "name", name)) return
    if (is_cut(status, "value", value)) return
    call c_set_option(status, calculation%handle, terminated(name), terminated(value))
  end subroutine trifuse_set_option

  !> Sets the values of omega2, hartree: 1 to 10000 values, each 0 to 1e6. One run computes all of them. Default: the
  !> omega2 of regularised left amplitudes, or 0.
  subroutine trifuse_set_omega2(status, calculation, omega2)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    real(c_double), intent(in) :: omega2(:)
    call c_set_omega2(status, calculation%handle, size(omega2, kind=c_int64_t), omega2)
  end subroutine trifuse_set_omega2

  !> Sets the spin formulation: trifuse_form_auto (the default: spin-adapted for RHF, else spin-orbital),
  !> trifuse_form_spin_orbital, or trifuse_form_spin_adapted, which needs an RHF reference.
  subroutine trifuse_set_form(status, calculation, form)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int32_t), intent(in) :: form
    call c_set_form(status, calculation%handle, form)
  end subroutine trifuse_set_form

  !> Sets the orbitals of an ROHF reference: trifuse_rohf_given (the default: those of the amplitudes), or
  !> trifuse_rohf_semicanonical (the standard ROHF-CCSD(T)), which needs an ROHF reference and the Fock matrix.
  subroutine trifuse_set_rohf(status, calculation, rohf)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int32_t), intent(in) :: rohf
    call c_set_rohf(status, calculation%handle, rohf)
  end subroutine trifuse_set_rohf

  !> Sets the device: trifuse_device_auto (the default), trifuse_device_cpu or trifuse_device_cuda, see trifuse.h.
  subroutine trifuse_set_device(status, calculation, device)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int32_t), intent(in) :: device
    call c_set_device(status, calculation%handle, device)
  end subroutine trifuse_set_device

  !> Sets the GPUs, 1 to 4096 numbers as CUDA counts them from 0. Implies trifuse_device_cuda.
  subroutine trifuse_set_gpus(status, calculation, gpus)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int32_t), intent(in) :: gpus(:)
    call c_set_gpus(status, calculation%handle, size(gpus, kind=c_int64_t), gpus)
  end subroutine trifuse_set_gpus

  !> Sets the number of threads, 1 to 4096. Default: as many as the process may use.
  subroutine trifuse_set_threads(status, calculation, threads)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int64_t), intent(in) :: threads
    call c_set_threads(status, calculation%handle, threads)
  end subroutine trifuse_set_threads

  !> Sets the largest number of orbitals in a tile, 1 to 1048576. Default: chosen for the device.
  subroutine trifuse_set_tile_size(status, calculation, tile_size)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int64_t), intent(in) :: tile_size
    call c_set_tile_size(status, calculation%handle, tile_size)
  end subroutine trifuse_set_tile_size

  !> Sets the memory limit in bytes, at most 1 PiB. CPU: limit of the scratch and of panels made from factors, besides
  !> amplitudes and integrals; default 2 GiB. GPUs: limit on each GPU; default: its free memory. In a run on several
  !> processes that share operands: limit of all that a process without a GPU stores.
  subroutine trifuse_set_memory(status, calculation, bytes)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int64_t), intent(in) :: bytes
    call c_set_memory(status, calculation%handle, bytes)
  end subroutine trifuse_set_memory

  !> Sets the path of the journal, a file of finished tasks from which a stopped run resumes. Default: no journal.
  subroutine trifuse_set_journal(status, calculation, path)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    character(len=*), intent(in) :: path
    if (is_cut(status, "path", path)) return
    call c_set_journal(status, calculation%handle, terminated(path))
  end subroutine trifuse_set_journal

  !> Verifies the amplitudes and computes the energies. Discards the energies and warnings of an earlier run.
  subroutine trifuse_run(status, calculation)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    call c_run(status, calculation%handle)
  end subroutine trifuse_run

  !> Sets what happens if a witness fails or if (T) contradicts the printed (T). `trust` true: the run continues with a
  !> warning. False, the default: the run fails.
  subroutine trifuse_set_trust_input(status, calculation, trust)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    logical, intent(in) :: trust
    call c_set_trust_input(status, calculation%handle, merge(1_c_int32_t, 0_c_int32_t, trust))
  end subroutine trifuse_set_trust_input

  !> Gets the number of warnings of the last run.
  subroutine trifuse_warning_count(status, calculation, count)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int64_t), intent(out) :: count
    count = c_warning_count(status, calculation%handle)
  end subroutine trifuse_warning_count

  !> Gets warning number `index`, 1 to `count` of trifuse_warning_count: one sentence.
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

  !> Gets the number of energies of the last run, in the procedures below called omega2 values: for each method the
  !> values of omega2; 0 before a run.
  subroutine trifuse_energy_count(status, calculation, count)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int64_t), intent(out) :: count
    count = c_energy_count(status, calculation%handle)
  end subroutine trifuse_energy_count

  !> Gets omega2 and the energies E[T] and E(T) of one omega2 value of the last run, all in hartree. `index`: 1 to
  !> `count` of trifuse_energy_count.
  subroutine trifuse_get_energy(status, calculation, index, omega2, bracket_energy, paren_energy)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int64_t), intent(in) :: index
    real(c_double), intent(out) :: omega2, bracket_energy, paren_energy
    call c_get_energy(status, calculation%handle, index - 1_c_int64_t, omega2, bracket_energy, paren_energy)
  end subroutine trifuse_get_energy

end module trifuse

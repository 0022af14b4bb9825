!> Amplitudes and integrals as dense arrays of a Fortran program, see trifuse_arrays.h, and the report of a run.
!>
!> The names and shapes are those of tce_tiles/docs/dump-format.md. An array may have its indices in two orders:
!>
!>     t2(i,j,a,b)  the order of the format page; this is the default
!>     t2(b,a,j,i)  the reverse order, with `reversed=.true.`; the library reads it faster, because it is C order
!>
!> The library reads the arrays in place. So they must have the attribute `target`, be contiguous, and stay unchanged
!> until the amplitudes and all calculations that use them have been deleted. trifuse_add_pointer adds arrays with other
!> strides and arrays of a GPU, trifuse_add_reader adds arrays that are not in memory.
module trifuse_dense
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_funptr, c_int32_t, c_int64_t, c_loc, c_null_char, &
    & c_null_funptr, c_null_ptr, c_ptr, c_sizeof
  use trifuse_c
  implicit none
  private

  public :: trifuse_arrays, trifuse_add_array, trifuse_add_pointer, trifuse_add_reader, trifuse_new_dense_amplitudes
  public :: trifuse_not_known, trifuse_set_check, trifuse_set_progress, trifuse_set_log, trifuse_get_total_energy
  public :: trifuse_get_spin_case, trifuse_get_method, trifuse_get_report, trifuse_cancelled
  public :: trifuse_precision_double, trifuse_precision_mixed, trifuse_set_precision, trifuse_set_target_error
  public :: trifuse_get_error_bar, trifuse_get_uncorrected_energy
  public :: trifuse_log_information, trifuse_log_warning, trifuse_aaa, trifuse_aab, trifuse_abb, trifuse_bbb

  !> The code of a run that the program has cancelled.
  integer(c_int32_t), parameter :: trifuse_cancelled = 6_c_int32_t
  !> The value of an energy that is not known: NaN.
  real(c_double), parameter :: trifuse_not_known = transfer(9221120237041090560_c_int64_t, 0.0_c_double)

  !> Levels of a message, see trifuse_set_log.
  integer(c_int32_t), parameter :: trifuse_log_information = 0_c_int32_t, trifuse_log_warning = 1_c_int32_t
  !> The spin cases of the triples, see trifuse_get_spin_case.
  integer(c_int32_t), parameter :: trifuse_aaa = 0_c_int32_t, trifuse_aab = 1_c_int32_t
  integer(c_int32_t), parameter :: trifuse_abb = 2_c_int32_t, trifuse_bbb = 3_c_int32_t

  integer(c_int32_t), parameter :: of_float64 = 0_c_int32_t, of_int32 = 1_c_int32_t, of_int64 = 2_c_int32_t
  integer, parameter :: max_rank = 4

  !> The structure trifuse_array of trifuse_arrays.h.
  type, bind(c) :: c_array
    type(c_ptr) :: name = c_null_ptr
    type(c_ptr) :: data = c_null_ptr
    integer(c_int32_t) :: type = of_float64
    integer(c_int32_t) :: location = 0_c_int32_t
    integer(c_int64_t) :: rank = 0_c_int64_t
    type(c_ptr) :: shape = c_null_ptr
    type(c_ptr) :: strides = c_null_ptr
    type(c_funptr) :: reader = c_null_funptr
    type(c_ptr) :: context = c_null_ptr
  end type c_array

  !> One array. `name`, `shape` and `strides` of `array` are set when the library gets it, because they are addresses.
  type :: dense_array
    type(c_array) :: array
    character(len=:), allocatable :: name
    logical :: c_order = .false.  !< true: the strides follow from the shape
    integer(c_int64_t) :: shape(max_rank) = 0_c_int64_t, strides(max_rank) = 0_c_int64_t
  end type dense_array

  !> Dense arrays and what the library needs to know about them. trifuse_add_array adds an array.
  type :: trifuse_arrays
    integer(c_int32_t) :: reference = trifuse_rhf               !< trifuse_rhf, trifuse_uhf or trifuse_rohf
    integer(c_int32_t) :: kind = trifuse_ccsd                   !< trifuse_ccsd, _regularized_ccsd or _lambda
    real(c_double) :: omega2 = 0.0_c_double                     !< of regularised CCSD, hartree, 0 to 1e6; else 0
    logical :: fock_in_triples = .false.                        !< true: (T) has f_ov t2; needs the Fock matrix
    logical :: no_fock_in_triples = .false.                     !< true: (T) has no f_ov t2; both false: not stated
    real(c_double) :: correlation_energy = trifuse_not_known    !< CCSD correlation energy, hartree
    real(c_double) :: scf_energy = trifuse_not_known            !< total energy of the reference, hartree
    real(c_double) :: convergence = 0.0_c_double                !< threshold of the norm of their change; 0: not known
    character(len=:), allocatable :: source                     !< names the program in messages; may be absent
    character(len=:), allocatable :: program                    !< for the report, e.g. "PySCF 2.14"; may be absent
    character(len=:), allocatable :: molecule, basis            !< the same
    type(dense_array), allocatable, private :: items(:)
  end type trifuse_arrays

  !> Adds an array. `name`: as in the dump format. `array`: contiguous; 64-bit floats of rank 1 to 4, or irreps as
  !> integers. `reversed`: true if the indices have the reverse order of the format page; default: false.
  interface trifuse_add_array
    module procedure add_floats, add_int32, add_int64
  end interface trifuse_add_array

  !> The structure trifuse_arrays of trifuse_arrays.h.
  type, bind(c) :: c_arrays
    integer(c_int64_t) :: size = 0_c_int64_t
    integer(c_int64_t) :: array_size = 0_c_int64_t
    integer(c_int64_t) :: count = 0_c_int64_t
    type(c_ptr) :: arrays = c_null_ptr
    integer(c_int32_t) :: reference = 0_c_int32_t
    integer(c_int32_t) :: kind = 0_c_int32_t
    real(c_double) :: omega2 = 0.0_c_double
    integer(c_int32_t) :: fock_in_triples = 0_c_int32_t
    real(c_double) :: correlation_energy = 0.0_c_double
    real(c_double) :: scf_energy = 0.0_c_double
    type(c_ptr) :: source = c_null_ptr
    type(c_ptr) :: program = c_null_ptr
    type(c_ptr) :: molecule = c_null_ptr
    type(c_ptr) :: basis = c_null_ptr
    real(c_double) :: convergence = 0.0_c_double
  end type c_arrays

  interface
    function c_new_dense_amplitudes(status, arrays) bind(c, name="trifuse_new_dense_amplitudes") result(handle)
      import :: trifuse_status, c_arrays, c_ptr
      type(trifuse_status), intent(inout) :: status
      type(c_arrays), intent(in) :: arrays
      type(c_ptr) :: handle
    end function c_new_dense_amplitudes
    subroutine c_set_check(status, calculation, check) bind(c, name="trifuse_set_check")
      import :: trifuse_status, c_ptr, c_int32_t
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation
      integer(c_int32_t), value :: check
    end subroutine c_set_check
    subroutine c_set_log(status, calculation, log, context) bind(c, name="trifuse_set_log")
      import :: trifuse_status, c_ptr, c_funptr
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation, context
      type(c_funptr), value :: log
    end subroutine c_set_log
    subroutine c_get_spin_case(status, calculation, index, spin_case, bracket_energy, paren_energy) &
      & bind(c, name="trifuse_get_spin_case")
      import :: trifuse_status, c_ptr, c_int32_t, c_int64_t, c_double
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation
      integer(c_int64_t), value :: index
      integer(c_int32_t), value :: spin_case
      real(c_double), intent(out) :: bracket_energy, paren_energy
    end subroutine c_get_spin_case
    subroutine c_set_progress(status, calculation, progress, context) bind(c, name="trifuse_set_progress")
      import :: trifuse_status, c_ptr, c_funptr
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation, context
      type(c_funptr), value :: progress
    end subroutine c_set_progress
    function c_get_total_energy(status, calculation, index) bind(c, name="trifuse_get_total_energy") result(energy)
      import :: trifuse_status, c_ptr, c_int64_t, c_double
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation
      integer(c_int64_t), value :: index
      real(c_double) :: energy
    end function c_get_total_energy
    subroutine c_get_method(status, calculation, index, method) bind(c, name="trifuse_get_method")
      import :: trifuse_status, c_ptr, c_int64_t, c_char
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation
      integer(c_int64_t), value :: index
      character(kind=c_char), intent(inout) :: method(*)
    end subroutine c_get_method
    function c_get_report(status, calculation, size, report) bind(c, name="trifuse_get_report") result(bytes)
      import :: trifuse_status, c_ptr, c_int64_t
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation, report
      integer(c_int64_t), value :: size
      integer(c_int64_t) :: bytes
    end function c_get_report
  end interface

contains

  subroutine add_floats(arrays, name, array, reversed)
    type(trifuse_arrays), intent(inout) :: arrays
    character(len=*), intent(in) :: name
    real(c_double), intent(in), target :: array(..)
    logical, intent(in), optional :: reversed
    type(c_ptr) :: data
    data = c_null_ptr
    ! The library refuses an array without data. A copy would end with this procedure.
    if (is_contiguous(array)) data = c_loc(array)
    call add(arrays, name, data, of_float64, shape(array, kind=c_int64_t), reversed)
  end subroutine add_floats

  subroutine add_int32(arrays, name, array)
    type(trifuse_arrays), intent(inout) :: arrays
    character(len=*), intent(in) :: name
    integer(c_int32_t), intent(in), target, contiguous :: array(:)
    call add(arrays, name, c_loc(array), of_int32, shape(array, kind=c_int64_t))
  end subroutine add_int32

  subroutine add_int64(arrays, name, array)
    type(trifuse_arrays), intent(inout) :: arrays
    character(len=*), intent(in) :: name
    integer(c_int64_t), intent(in), target, contiguous :: array(:)
    call add(arrays, name, c_loc(array), of_int64, shape(array, kind=c_int64_t))
  end subroutine add_int64

  !> Adds an array by its address. `data`: c_loc of element [0,0,...]; on a GPU the address there, as type(c_ptr).
  !> `shape`, `strides`: number of elements, and distance of neighbours in elements, along each axis in the order of the
  !> format page; without `strides` the last index is the fastest. `gpu`: number of the GPU as CUDA counts them; absent:
  !> the host's memory.
  subroutine trifuse_add_pointer(arrays, name, data, shape, strides, gpu)
    type(trifuse_arrays), intent(inout) :: arrays
    character(len=*), intent(in) :: name
    type(c_ptr), intent(in) :: data
    integer(c_int64_t), intent(in) :: shape(:)
    integer(c_int64_t), intent(in), optional :: strides(:)
    integer(c_int32_t), intent(in), optional :: gpu
    type(dense_array) :: item
    call describe(item, name, shape)
    item%array%data = data
    if (present(gpu)) item%array%location = gpu + 1_c_int32_t
    if (present(strides)) then
      item%c_order = .false.
      ! The library refuses a shape without axes.
      if (size(strides) /= size(shape)) item%array%rank = 0_c_int64_t
      item%strides(:item%array%rank) = strides(:item%array%rank)
    end if
    call append(arrays, item)
  end subroutine trifuse_add_pointer

  !> Adds an array that is not in memory. `shape`: as for trifuse_add_pointer. `reader`: c_funloc of a bind(c) function
  !> that delivers a part of the array, see trifuse_box_reader in trifuse_arrays.h: the arrays `offset` and `count` have
  !> the order of the format page, `offset` counts from 0, and the last index of `box` is the fastest, so in Fortran it
  !> has the shape box(count(4),count(3),count(2),count(1)). `context`: passed to the function.
  subroutine trifuse_add_reader(arrays, name, shape, reader, context)
    type(trifuse_arrays), intent(inout) :: arrays
    character(len=*), intent(in) :: name
    integer(c_int64_t), intent(in) :: shape(:)
    type(c_funptr), intent(in) :: reader
    type(c_ptr), intent(in) :: context
    type(dense_array) :: item
    call describe(item, name, shape)
    item%array%reader = reader
    item%array%context = context
    call append(arrays, item)
  end subroutine trifuse_add_reader

  !> Adds an array with the Fortran shape `extents`.
  subroutine add(arrays, name, data, type, extents, reversed)
    type(trifuse_arrays), intent(inout) :: arrays
    character(len=*), intent(in) :: name
    type(c_ptr), intent(in) :: data
    integer(c_int32_t), intent(in) :: type
    integer(c_int64_t), intent(in) :: extents(:)
    logical, intent(in), optional :: reversed
    type(dense_array) :: item
    integer :: k, axis, rank
    call describe(item, name, extents)
    item%c_order = .false.
    item%array%data = data
    item%array%type = type
    rank = int(item%array%rank)
    do k = 1, rank
      axis = k
      if (present(reversed)) axis = merge(rank + 1 - k, k, reversed)
      item%shape(axis) = extents(k)
      item%strides(axis) = product(extents(:k - 1))
    end do
    call append(arrays, item)
  end subroutine add

  !> Sets the name and the shape of an array in C order. The library refuses an array without axes.
  subroutine describe(item, name, shape)
    type(dense_array), intent(inout) :: item
    character(len=*), intent(in) :: name
    integer(c_int64_t), intent(in) :: shape(:)
    item%name = trim(name)
    item%c_order = .true.
    if (size(shape) > max_rank) return
    item%array%rank = size(shape, kind=c_int64_t)
    item%shape(:size(shape)) = shape
  end subroutine describe

  subroutine append(arrays, item)
    type(trifuse_arrays), intent(inout) :: arrays
    type(dense_array), intent(in) :: item
    if (.not. allocated(arrays%items)) allocate (arrays%items(0))
    arrays%items = [arrays%items, item]
  end subroutine append

  !> Makes amplitudes from dense arrays. Left amplitudes have no integrals.
  subroutine trifuse_new_dense_amplitudes(status, amplitudes, arrays)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_amplitudes), intent(out) :: amplitudes
    type(trifuse_arrays), intent(in), target :: arrays
    integer, parameter :: longest = 64
    type(c_arrays) :: all
    type(c_array), allocatable, target :: list(:)
    character(kind=c_char), allocatable, target :: names(:, :), source(:), program(:), molecule(:), basis(:)
    integer :: n, count
    count = 0
    if (allocated(arrays%items)) count = size(arrays%items)
    allocate (list(count), names(longest, count))
    names = c_null_char
    do n = 1, count
      if (is_cut(status, "The name of an array", arrays%items(n)%name)) return
      associate (item => arrays%items(n), name => terminated(arrays%items(n)%name))
        names(:min(longest - 1, size(name)), n) = name(:min(longest - 1, size(name)))
        list(n) = item%array
        list(n)%name = c_loc(names(1, n))
        list(n)%shape = c_loc(item%shape)
        if (.not. item%c_order) list(n)%strides = c_loc(item%strides)
      end associate
    end do
    all%size = int(c_sizeof(all), c_int64_t)
    all%array_size = int(c_sizeof(c_array()), c_int64_t)
    all%count = int(count, c_int64_t)
    if (count > 0) all%arrays = c_loc(list)
    all%reference = arrays%reference
    all%kind = arrays%kind
    all%omega2 = arrays%omega2
    all%fock_in_triples = merge(1_c_int32_t, 0_c_int32_t, arrays%fock_in_triples)
    if (arrays%no_fock_in_triples) all%fock_in_triples = merge(2_c_int32_t, -1_c_int32_t, arrays%fock_in_triples)
    all%correlation_energy = arrays%correlation_energy
    all%scf_energy = arrays%scf_energy
    all%convergence = arrays%convergence
    if (is_cut(status, "source", arrays%source)) return
    if (is_cut(status, "program", arrays%program)) return
    if (is_cut(status, "molecule", arrays%molecule)) return
    if (is_cut(status, "basis", arrays%basis)) return
    call point_to(arrays%source, source, all%source)
    call point_to(arrays%program, program, all%program)
    call point_to(arrays%molecule, molecule, all%molecule)
    call point_to(arrays%basis, basis, all%basis)
    amplitudes%handle = c_new_dense_amplitudes(status, all)
  end subroutine trifuse_new_dense_amplitudes

  !> Makes a C string of a text, if there is one.
  subroutine point_to(text, characters, pointer)
    character(len=:), allocatable, intent(in) :: text
    character(kind=c_char), allocatable, target, intent(inout) :: characters(:)
    type(c_ptr), intent(inout) :: pointer
    if (.not. allocated(text)) return
    characters = terminated(text)
    pointer = c_loc(characters)
  end subroutine point_to

  !> Sets whether trifuse_run checks the numbers of its amplitudes; default: true.
  subroutine trifuse_set_check(status, calculation, check)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    logical, intent(in) :: check
    call c_set_check(status, calculation%handle, merge(1_c_int32_t, 0_c_int32_t, check))
  end subroutine trifuse_set_check

  !> Sets the function that follows a run and may cancel it. `progress`: c_funloc of a bind(c) function, see
  !> trifuse_progress in trifuse.h; c_null_funptr removes it. `context`: passed to the function.
  subroutine trifuse_set_progress(status, calculation, progress, context)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    type(c_funptr), intent(in) :: progress
    type(c_ptr), intent(in) :: context
    call c_set_progress(status, calculation%handle, progress, context)
  end subroutine trifuse_set_progress

  !> Sets the procedure that receives the messages of the runs. `log`: c_funloc of a bind(c) subroutine, see trifuse_log
  !> in trifuse.h: its arguments are the context, the level (trifuse_log_information or _warning) and the line, which ends
  !> with a null character; c_null_funptr removes it. `context`: passed to the procedure.
  subroutine trifuse_set_log(status, calculation, log, context)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    type(c_funptr), intent(in) :: log
    type(c_ptr), intent(in) :: context
    call c_set_log(status, calculation%handle, log, context)
  end subroutine trifuse_set_log

  !> Gets the part of one spin case in the energies of one omega2 value of the last run, hartree. `index`: 1 to `count`
  !> of trifuse_energy_count. `spin_case`: trifuse_aaa, _aab, _abb or _bbb, the spins of the occupied orbitals.
  subroutine trifuse_get_spin_case(status, calculation, index, spin_case, bracket_energy, paren_energy)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int64_t), intent(in) :: index
    integer(c_int32_t), intent(in) :: spin_case
    real(c_double), intent(out) :: bracket_energy, paren_energy
    call c_get_spin_case(status, calculation%handle, index - 1_c_int64_t, spin_case, bracket_energy, paren_energy)
  end subroutine trifuse_get_spin_case

  !> Sets the precision of the matrix products: trifuse_precision_double (the default) or trifuse_precision_mixed, see
  !> trifuse.h.
  subroutine trifuse_set_precision(status, calculation, precision)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int32_t), intent(in) :: precision
    call c_set_precision(status, calculation%handle, precision)
  end subroutine trifuse_set_precision

  !> Sets the error bar that mixed precision must reach, hartree: more than 0, at most 1. Default: 7e-9 of the energy,
  !> or 3e-10 hartree if this is more. Call trifuse_set_precision with trifuse_precision_mixed before.
  subroutine trifuse_set_target_error(status, calculation, target_error)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    real(c_double), intent(in) :: target_error
    call c_set_target_error(status, calculation%handle, target_error)
  end subroutine trifuse_set_target_error

  !> Gets the error bars of E[T] and E(T) of one omega2 value of the last run, hartree; 0 in double precision.
  !> `index`: 1 to `count` of trifuse_energy_count.
  subroutine trifuse_get_error_bar(status, calculation, index, bracket_bar, paren_bar)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int64_t), intent(in) :: index
    real(c_double), intent(out) :: bracket_bar, paren_bar
    call c_get_error_bar(status, calculation%handle, index - 1_c_int64_t, bracket_bar, paren_bar)
  end subroutine trifuse_get_error_bar

  !> Gets E[T] and E(T) of one omega2 value without the correction by the tasks in double precision, hartree. `index`: 1
  !> to `count` of trifuse_energy_count.
  subroutine trifuse_get_uncorrected_energy(status, calculation, index, bracket_energy, paren_energy)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int64_t), intent(in) :: index
    real(c_double), intent(out) :: bracket_energy, paren_energy
    call c_get_uncorrected_energy(status, calculation%handle, index - 1_c_int64_t, bracket_energy, paren_energy)
  end subroutine trifuse_get_uncorrected_energy

  !> Gets E(SCF) + E(CCSD correlation) + E(T) of one omega2 value of the last run, hartree; NaN if one of them is not
  !> known. `index`: 1 to `count` of trifuse_energy_count.
  subroutine trifuse_get_total_energy(status, calculation, index, energy)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int64_t), intent(in) :: index
    real(c_double), intent(out) :: energy
    energy = c_get_total_energy(status, calculation%handle, index - 1_c_int64_t)
  end subroutine trifuse_get_total_energy

  !> Gets the name of the method at one omega2 value of the last run, e.g. "CCSD(T)". `index`: 1 to `count` of
  !> trifuse_energy_count.
  subroutine trifuse_get_method(status, calculation, index, method)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int64_t), intent(in) :: index
    character(len=:), allocatable, intent(out) :: method
    character(kind=c_char) :: text(message_length)
    text = c_null_char
    call c_get_method(status, calculation%handle, index - 1_c_int64_t, text)
    method = up_to_null(text)
  end subroutine trifuse_get_method

  !> Gets the report of the last run, a JSON text.
  subroutine trifuse_get_report(status, calculation, report)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    character(len=:), allocatable, intent(out) :: report
    character(kind=c_char), allocatable, target :: text(:)
    integer(c_int64_t) :: bytes
    report = ""
    bytes = c_get_report(status, calculation%handle, 0_c_int64_t, c_null_ptr)
    if (status%code /= trifuse_success) return
    allocate (text(bytes))
    bytes = c_get_report(status, calculation%handle, bytes, c_loc(text))
    report = up_to_null(text)
  end subroutine trifuse_get_report

end module trifuse_dense

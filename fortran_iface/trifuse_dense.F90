!> Amplitudes and integrals as dense arrays of a Fortran program, see trifuse_arrays.h, and the report of a run.
!>
!> The names and shapes are those of tce_tiles/docs/dump-format.md. An array may have its indices in two orders:
!>
!>     t2(i,j,a,b)  the order of the format page; this is the default
!>     t2(b,a,j,i)  the reverse order, with `reversed=.true.`; the library reads it faster, because it is C order
!>
!> The library reads the arrays in place. So they must have the attribute `target`, be contiguous, and stay unchanged
!> until the amplitudes and all calculations that use them have been deleted.
module trifuse_dense
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_funptr, c_int32_t, c_int64_t, c_loc, c_null_char, &
    & c_null_funptr, c_null_ptr, c_ptr, c_sizeof
  use trifuse_c
  implicit none
  private

  public :: trifuse_arrays, trifuse_add_array, trifuse_new_dense_amplitudes, trifuse_not_known
  public :: trifuse_set_check, trifuse_set_progress, trifuse_get_total_energy, trifuse_get_method, trifuse_get_report
  public :: trifuse_cancelled

  !> The code of a run that the program has cancelled.
  integer(c_int32_t), parameter :: trifuse_cancelled = 6_c_int32_t
  !> The value of an energy that is not known: NaN.
  real(c_double), parameter :: trifuse_not_known = transfer(9221120237041090560_c_int64_t, 0.0_c_double)

  integer(c_int32_t), parameter :: of_float64 = 0_c_int32_t, of_int32 = 1_c_int32_t, of_int64 = 2_c_int32_t
  integer, parameter :: max_rank = 4

  !> One array.
  type :: dense_array
    character(len=:), allocatable :: name
    type(c_ptr) :: data = c_null_ptr
    integer(c_int32_t) :: type = of_float64
    integer :: rank = 0
    integer(c_int64_t) :: shape(max_rank) = 0_c_int64_t, strides(max_rank) = 0_c_int64_t
  end type dense_array

  !> Dense arrays and what the library needs to know about them. trifuse_add_array adds an array.
  type :: trifuse_arrays
    integer(c_int32_t) :: reference = trifuse_rhf               !< trifuse_rhf, trifuse_uhf or trifuse_rohf
    integer(c_int32_t) :: kind = trifuse_ccsd                   !< trifuse_ccsd, _regularized_ccsd or _lambda
    real(c_double) :: omega2 = 0.0_c_double                     !< of regularised CCSD, hartree, 0 to 1e6; else 0
    logical :: fock_in_triples = .false.                        !< true: (T) has f_ov t2; needs the Fock matrix
    real(c_double) :: correlation_energy = trifuse_not_known    !< CCSD correlation energy, hartree
    real(c_double) :: scf_energy = trifuse_not_known            !< total energy of the reference, hartree
    character(len=:), allocatable :: source                     !< names the program in messages; may be absent
    type(dense_array), allocatable, private :: items(:)
  end type trifuse_arrays

  !> Adds an array. `name`: as in the dump format. `array`: contiguous; 64-bit floats of rank 1 to 4, or irreps as
  !> integers. `reversed`: true if the indices have the reverse order of the format page; default: false.
  interface trifuse_add_array
    module procedure add_floats, add_int32, add_int64
  end interface trifuse_add_array

  !> The structures of trifuse_arrays.h.
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

  !> Adds an array with the Fortran shape `extents`.
  subroutine add(arrays, name, data, type, extents, reversed)
    type(trifuse_arrays), intent(inout) :: arrays
    character(len=*), intent(in) :: name
    type(c_ptr), intent(in) :: data
    integer(c_int32_t), intent(in) :: type
    integer(c_int64_t), intent(in) :: extents(:)
    logical, intent(in), optional :: reversed
    type(dense_array) :: item
    integer :: k, axis
    item%name = trim(name)
    item%data = data
    item%type = type
    item%rank = min(size(extents), max_rank)
    do k = 1, item%rank
      axis = k
      if (present(reversed)) axis = merge(item%rank + 1 - k, k, reversed)
      item%shape(axis) = extents(k)
      item%strides(axis) = product(extents(:k - 1))
    end do
    if (.not. allocated(arrays%items)) allocate (arrays%items(0))
    arrays%items = [arrays%items, item]
  end subroutine add

  !> Makes amplitudes from dense arrays. Left amplitudes have no integrals.
  subroutine trifuse_new_dense_amplitudes(status, amplitudes, arrays)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_amplitudes), intent(out) :: amplitudes
    type(trifuse_arrays), intent(in), target :: arrays
    integer, parameter :: longest = 64
    type(c_arrays) :: all
    type(c_array), allocatable, target :: list(:)
    character(kind=c_char), allocatable, target :: names(:, :), source(:)
    integer :: n, count
    count = 0
    if (allocated(arrays%items)) count = size(arrays%items)
    allocate (list(count), names(longest, count))
    names = c_null_char
    do n = 1, count
      associate (item => arrays%items(n), name => terminated(arrays%items(n)%name))
        names(:min(longest - 1, size(name)), n) = name(:min(longest - 1, size(name)))
        list(n)%name = c_loc(names(1, n))
        list(n)%data = item%data
        list(n)%type = item%type
        list(n)%rank = int(item%rank, c_int64_t)
        list(n)%shape = c_loc(item%shape)
        list(n)%strides = c_loc(item%strides)
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
    all%correlation_energy = arrays%correlation_energy
    all%scf_energy = arrays%scf_energy
    if (allocated(arrays%source)) then
      source = terminated(arrays%source)
      all%source = c_loc(source)
    end if
    amplitudes%handle = c_new_dense_amplitudes(status, all)
  end subroutine trifuse_new_dense_amplitudes

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

  !> Gets E(SCF) + E(CCSD correlation) + E(T) of one omega2 value of the last run, hartree; NaN if one of them is not
  !> known. `index`: 1 to `count` of trifuse_energy_count.
  subroutine trifuse_get_total_energy(status, calculation, index, energy)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int64_t), intent(in) :: index
    real(c_double), intent(out) :: energy
    energy = c_get_total_energy(status, calculation%handle, index - 1_c_int64_t)
  end subroutine trifuse_get_total_energy

  !> Gets the name of the method at one omega2 value of the last run, e.g. "CCSD(T)". `index`: as above.
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

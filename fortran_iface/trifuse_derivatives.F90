!> Derivatives of E(T) by the arrays of a Fortran program, see trifuse.h and drivers/docs/derivatives.md.
!>
!>     call trifuse_set_option(status, calculation, "derivatives", "all")
!>     call trifuse_run(status, calculation)
!>     call trifuse_copy_derivative(status, calculation, "t2", size(t2, kind=c_int64_t), t2_derivative)
!>
!> The elements are in C order: those by t2[i,j,a,b] fill an array t2_derivative(b,a,j,i). For arrays that are too large
!> for the memory of a process there is trifuse_copy_derivative_slices: slices of the last index in Fortran.
module trifuse_derivatives
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_int32_t, c_int64_t, c_null_char, c_ptr
  use trifuse_c
  implicit none
  private

  public :: trifuse_derivative_count, trifuse_get_derivative, trifuse_copy_derivative, trifuse_copy_derivative_slices
  public :: trifuse_name_length

  !> Characters of the name of derivatives in C.
  integer(c_int32_t), parameter :: trifuse_name_length = 64_c_int32_t
  integer, parameter :: max_rank = 4

  interface
    function c_derivative_count(status, calculation) bind(c, name="trifuse_derivative_count") result(count)
      import :: trifuse_status, c_int64_t, c_ptr
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation
      integer(c_int64_t) :: count
    end function c_derivative_count
    subroutine c_get_derivative(status, calculation, index, name, rank, shape) bind(c, name="trifuse_get_derivative")
      import :: trifuse_status, c_char, c_int64_t, c_ptr
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation
      integer(c_int64_t), value :: index
      character(kind=c_char), intent(inout) :: name(*)
      integer(c_int64_t), intent(inout) :: rank, shape(*)
    end subroutine c_get_derivative
    subroutine c_copy_derivative(status, calculation, name, count, values) bind(c, name="trifuse_copy_derivative")
      import :: trifuse_status, c_char, c_double, c_int64_t, c_ptr
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: count
      real(c_double), intent(inout) :: values(*)
    end subroutine c_copy_derivative
    subroutine c_copy_derivative_slices(status, calculation, name, first, slices, count, values) &
        & bind(c, name="trifuse_copy_derivative_slices")
      import :: trifuse_status, c_char, c_double, c_int64_t, c_ptr
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: first, slices, count
      real(c_double), intent(inout) :: values(*)
    end subroutine c_copy_derivative_slices
  end interface

contains

  !> Returns the number of arrays of derivatives of the last run.
  subroutine trifuse_derivative_count(status, calculation, count)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int64_t), intent(out) :: count
    count = c_derivative_count(status, calculation%handle)
  end subroutine trifuse_derivative_count

  !> Returns the name of derivatives and their extents, in the order of Fortran: the reverse of C order. `index`: 1 to
  !> their number. If it fails, the name is empty.
  subroutine trifuse_get_derivative(status, calculation, index, name, extents)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int64_t), intent(in) :: index
    character(len=:), allocatable, intent(out) :: name
    integer(c_int64_t), allocatable, intent(out) :: extents(:)
    character(kind=c_char) :: text(trifuse_name_length)
    integer(c_int64_t) :: rank, shape(max_rank)
    text = c_null_char
    rank = 0_c_int64_t
    call c_get_derivative(status, calculation%handle, index - 1_c_int64_t, text, rank, shape)
    name = up_to_null(text)
    extents = shape(int(rank):1:-1)
  end subroutine trifuse_get_derivative

  !> Copies the derivatives with this name to values(count), a contiguous array of any rank. `count`: their number.
  subroutine trifuse_copy_derivative(status, calculation, name, count, values)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    character(len=*), intent(in) :: name
    integer(c_int64_t), intent(in) :: count
    real(c_double), intent(inout) :: values(*)
    if (is_cut(status, "name", name)) return
    call c_copy_derivative(status, calculation%handle, terminated(name), count, values)
  end subroutine trifuse_copy_derivative

  !> Copies slices `first` to first + slices - 1 of the last index, counted from 1, to values(count), a contiguous array
  !> of any rank. `count`: the number of elements of the slices.
  subroutine trifuse_copy_derivative_slices(status, calculation, name, first, slices, count, values)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    character(len=*), intent(in) :: name
    integer(c_int64_t), intent(in) :: first, slices, count
    real(c_double), intent(inout) :: values(*)
    if (is_cut(status, "name", name)) return
    call c_copy_derivative_slices(status, calculation%handle, terminated(name), first - 1_c_int64_t, slices, count, &
      & values)
  end subroutine trifuse_copy_derivative_slices
end module trifuse_derivatives

!> Contractions of two tensors of a Fortran program on CPU cores, see trifuse_contract.h.
!>
!>     call trifuse_contract(status, "iae,eb->bai", a, b, c)  ! c(b,a,i) = sum_e a(i,a,e) b(e,b)
!>
!> The letters name the indices in the order of Fortran's declarations: the first letter is the fastest index. Nothing is
!> reversed. Indices may be external, contracted or of a batch, as in drivers/docs/contraction.md.
module trifuse_contraction
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_int64_t, c_loc, c_null_ptr, c_ptr
  use trifuse_c
  implicit none
  private

  public :: trifuse_contract, trifuse_strided_array

  !> An array by its address, for arrays that are not contiguous.
  type :: trifuse_strided_array
    type(c_ptr) :: data = c_null_ptr               !< c_loc of the first element, 64-bit floats
    integer(c_int64_t), allocatable :: extents(:)  !< number of elements along each axis, as Fortran's shape
    integer(c_int64_t), allocatable :: strides(:)  !< from one element to the next along each axis; absent: no gaps
  end type trifuse_strided_array

  !> Computes C = alpha sum A B + beta C.
  !>
  !> `expression`: the indices of A, of B and of C, one letter for each axis. `a`, `b`, `c`: contiguous arrays of any rank
  !> of real(c_double), or all three of type(trifuse_strided_array). C must not share memory with A and B, and is not read
  !> if `beta` is 0. `alpha`: default 1. `beta`: default 0. `threads`: default all that the process may use.
  interface trifuse_contract
    module procedure contract_arrays, contract_strided
  end interface trifuse_contract

  !> The structure trifuse_layout of trifuse_contract.h.
  type, bind(c) :: c_layout
    integer(c_int64_t) :: rank = 0_c_int64_t
    type(c_ptr) :: extents = c_null_ptr
    type(c_ptr) :: strides = c_null_ptr
  end type c_layout

  interface
    subroutine c_contract(status, expression, alpha, a, layout_a, b, layout_b, beta, c, layout_c, threads) &
      & bind(c, name="trifuse_contract")
      import :: trifuse_status, c_layout, c_char, c_double, c_int64_t, c_ptr
      type(trifuse_status), intent(inout) :: status
      character(kind=c_char), intent(in) :: expression(*)
      real(c_double), value :: alpha, beta
      type(c_ptr), value :: a, b, c
      type(c_layout), intent(in) :: layout_a, layout_b, layout_c
      integer(c_int64_t), value :: threads
    end subroutine c_contract
  end interface

contains

  subroutine contract_arrays(status, expression, a, b, c, alpha, beta, threads)
    type(trifuse_status), intent(inout) :: status
    character(len=*), intent(in) :: expression
    real(c_double), intent(in), target :: a(..), b(..)
    real(c_double), intent(inout), target :: c(..)
    real(c_double), intent(in), optional :: alpha, beta
    integer, intent(in), optional :: threads
    type(trifuse_strided_array) :: of_a, of_b, of_c
    if (.not. (is_contiguous(a) .and. is_contiguous(b) .and. is_contiguous(c))) then
      call refuse(status, "An array of the contraction is not contiguous; pass arrays of type trifuse_strided_array.")
      return
    end if
    of_a%data = c_loc(a)
    of_b%data = c_loc(b)
    of_c%data = c_loc(c)
    of_a%extents = shape(a, kind=c_int64_t)
    of_b%extents = shape(b, kind=c_int64_t)
    of_c%extents = shape(c, kind=c_int64_t)
    call contract_strided(status, expression, of_a, of_b, of_c, alpha, beta, threads)
  end subroutine contract_arrays

  subroutine contract_strided(status, expression, a, b, c, alpha, beta, threads)
    type(trifuse_status), intent(inout) :: status
    character(len=*), intent(in) :: expression
    type(trifuse_strided_array), intent(in) :: a, b, c
    real(c_double), intent(in), optional :: alpha, beta
    integer, intent(in), optional :: threads
    type(trifuse_strided_array), target :: of(3)
    type(c_layout) :: layout(3)
    real(c_double) :: factor, old_factor
    integer(c_int64_t) :: count
    integer :: n
    if (is_cut(status, "The contraction", expression)) return
    of(1) = a
    of(2) = b
    of(3) = c
    do n = 1, 3
      call complete(of(n))
      if (size(of(n)%strides) /= size(of(n)%extents)) then
        call refuse(status, "A trifuse_strided_array has as many strides as extents; give one stride for each axis.")
        return
      end if
      layout(n) = c_layout(size(of(n)%extents, kind=c_int64_t), c_loc(of(n)%extents), c_loc(of(n)%strides))
    end do
    factor = 1.0_c_double
    old_factor = 0.0_c_double
    count = 0_c_int64_t
    if (present(alpha)) factor = alpha
    if (present(beta)) old_factor = beta
    if (present(threads)) count = int(threads, c_int64_t)
    call c_contract(status, terminated(expression), factor, of(1)%data, layout(1), of(2)%data, layout(2), old_factor, &
      & of(3)%data, layout(3), count)
  end subroutine contract_strided

  !> Adds what is absent: an array without extents is a number, and without strides it has Fortran's order.
  subroutine complete(array)
    type(trifuse_strided_array), intent(inout) :: array
    integer :: k
    if (.not. allocated(array%extents)) allocate (array%extents(0))
    if (.not. allocated(array%strides)) array%strides = [(product(array%extents(:k - 1)), k=1, size(array%extents))]
  end subroutine complete

end module trifuse_contraction

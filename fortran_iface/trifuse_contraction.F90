!> Contractions of two tensors of a Fortran program on CPU cores and GPUs, see trifuse_contract.h.
!>
!>     call trifuse_contract(status, "iae,eb->bai", a, b, c)  ! c(b,a,i) = sum_e a(i,a,e) b(e,b)
!>
!> The letters name the indices in the order of Fortran's declarations: the first letter is the fastest index. Nothing is
!> reversed. Indices may be external, contracted or of a batch, as in drivers/docs/contraction.md.
module trifuse_contraction
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_int32_t, c_int64_t, c_loc, c_null_ptr, c_ptr
  use trifuse_c
  implicit none
  private

  public :: trifuse_contract, trifuse_contract_on_gpus, trifuse_contract_in_gpu_memory, trifuse_strided_array

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

  !> Computes the same on GPUs, for arrays in the host's memory of any size. `gpus`: their numbers; default: all. `memory`:
  !> limit of the memory on each GPU, bytes; default: most of the free memory. Other arguments: as for trifuse_contract.
  interface trifuse_contract_on_gpus
    module procedure contract_arrays_on_gpus, contract_strided_on_gpus
  end interface trifuse_contract_on_gpus

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

    subroutine c_contract_on_gpus(status, expression, alpha, a, layout_a, b, layout_b, beta, c, layout_c, gpu_count, gpus, &
      & memory) bind(c, name="trifuse_contract_on_gpus")
      import :: trifuse_status, c_layout, c_char, c_double, c_int32_t, c_int64_t, c_ptr
      type(trifuse_status), intent(inout) :: status
      character(kind=c_char), intent(in) :: expression(*)
      real(c_double), value :: alpha, beta
      type(c_ptr), value :: a, b, c
      type(c_layout), intent(in) :: layout_a, layout_b, layout_c
      integer(c_int64_t), value :: gpu_count, memory
      integer(c_int32_t), intent(in) :: gpus(*)
    end subroutine c_contract_on_gpus

    subroutine c_contract_in_gpu_memory(status, expression, alpha, a, layout_a, b, layout_b, beta, c, layout_c, gpu, stream) &
      & bind(c, name="trifuse_contract_in_gpu_memory")
      import :: trifuse_status, c_layout, c_char, c_double, c_int32_t, c_ptr
      type(trifuse_status), intent(inout) :: status
      character(kind=c_char), intent(in) :: expression(*)
      real(c_double), value :: alpha, beta
      type(c_ptr), value :: a, b, c, stream
      type(c_layout), intent(in) :: layout_a, layout_b, layout_c
      integer(c_int32_t), value :: gpu
    end subroutine c_contract_in_gpu_memory
  end interface

contains

  subroutine contract_arrays(status, expression, a, b, c, alpha, beta, threads)
    type(trifuse_status), intent(inout) :: status
    character(len=*), intent(in) :: expression
    real(c_double), intent(in), target :: a(..), b(..)
    real(c_double), intent(inout), target :: c(..)
    real(c_double), intent(in), optional :: alpha, beta
    integer, intent(in), optional :: threads
    type(trifuse_strided_array) :: of(3)
    if (are_contiguous(status, a, b, c, of)) then
      call contract_strided(status, expression, of(1), of(2), of(3), alpha, beta, threads)
    end if
  end subroutine contract_arrays

  subroutine contract_strided(status, expression, a, b, c, alpha, beta, threads)
    type(trifuse_status), intent(inout) :: status
    character(len=*), intent(in) :: expression
    type(trifuse_strided_array), intent(in) :: a, b, c
    real(c_double), intent(in), optional :: alpha, beta
    integer, intent(in), optional :: threads
    type(trifuse_strided_array), target :: of(3)
    type(c_layout) :: layout(3)
    integer(c_int64_t) :: count
    of = [a, b, c]
    if (.not. are_complete(status, expression, of, layout)) return
    count = 0_c_int64_t
    if (present(threads)) count = int(threads, c_int64_t)
    call c_contract(status, terminated(expression), factor(alpha, 1), of(1)%data, layout(1), of(2)%data, layout(2), &
      & factor(beta, 0), of(3)%data, layout(3), count)
  end subroutine contract_strided

  subroutine contract_arrays_on_gpus(status, expression, a, b, c, alpha, beta, gpus, memory)
    type(trifuse_status), intent(inout) :: status
    character(len=*), intent(in) :: expression
    real(c_double), intent(in), target :: a(..), b(..)
    real(c_double), intent(inout), target :: c(..)
    real(c_double), intent(in), optional :: alpha, beta
    integer, intent(in), optional :: gpus(:)
    integer(c_int64_t), intent(in), optional :: memory
    type(trifuse_strided_array) :: of(3)
    if (are_contiguous(status, a, b, c, of)) then
      call contract_strided_on_gpus(status, expression, of(1), of(2), of(3), alpha, beta, gpus, memory)
    end if
  end subroutine contract_arrays_on_gpus

  subroutine contract_strided_on_gpus(status, expression, a, b, c, alpha, beta, gpus, memory)
    type(trifuse_status), intent(inout) :: status
    character(len=*), intent(in) :: expression
    type(trifuse_strided_array), intent(in) :: a, b, c
    real(c_double), intent(in), optional :: alpha, beta
    integer, intent(in), optional :: gpus(:)
    integer(c_int64_t), intent(in), optional :: memory
    type(trifuse_strided_array), target :: of(3)
    type(c_layout) :: layout(3)
    integer(c_int32_t), allocatable :: numbers(:)
    integer(c_int64_t) :: limit
    of = [a, b, c]
    if (.not. are_complete(status, expression, of, layout)) return
    allocate (numbers(0))
    if (present(gpus)) numbers = int(gpus, c_int32_t)
    limit = 0_c_int64_t
    if (present(memory)) limit = memory
    call c_contract_on_gpus(status, terminated(expression), factor(alpha, 1), of(1)%data, layout(1), of(2)%data, layout(2), &
      & factor(beta, 0), of(3)%data, layout(3), size(numbers, kind=c_int64_t), numbers, limit)
  end subroutine contract_strided_on_gpus

  !> Puts a contraction of arrays in the memory of GPU `gpu` on a stream, and returns at once. The members `data` are
  !> addresses that this GPU can read. `stream`: a cudaStream_t; default: CUDA's default stream. The other arguments: as
  !> for trifuse_contract.
  subroutine trifuse_contract_in_gpu_memory(status, expression, a, b, c, gpu, alpha, beta, stream)
    type(trifuse_status), intent(inout) :: status
    character(len=*), intent(in) :: expression
    type(trifuse_strided_array), intent(in) :: a, b, c
    integer, intent(in) :: gpu
    real(c_double), intent(in), optional :: alpha, beta
    type(c_ptr), intent(in), optional :: stream
    type(trifuse_strided_array), target :: of(3)
    type(c_layout) :: layout(3)
    type(c_ptr) :: on
    of = [a, b, c]
    if (.not. are_complete(status, expression, of, layout)) return
    on = c_null_ptr
    if (present(stream)) on = stream
    call c_contract_in_gpu_memory(status, terminated(expression), factor(alpha, 1), of(1)%data, layout(1), of(2)%data, &
      & layout(2), factor(beta, 0), of(3)%data, layout(3), int(gpu, c_int32_t), on)
  end subroutine trifuse_contract_in_gpu_memory

  !> Describes three arrays. Returns false, with the status set, if one of them is not contiguous.
  logical function are_contiguous(status, a, b, c, of)
    type(trifuse_status), intent(inout) :: status
    real(c_double), intent(in), target :: a(..), b(..), c(..)
    type(trifuse_strided_array), intent(out) :: of(3)
    are_contiguous = is_contiguous(a) .and. is_contiguous(b) .and. is_contiguous(c)
    if (.not. are_contiguous) then
      call refuse(status, "An array of the contraction is not contiguous; pass arrays of type trifuse_strided_array.")
      return
    end if
    of(1)%data = c_loc(a)
    of(2)%data = c_loc(b)
    of(3)%data = c_loc(c)
    of(1)%extents = shape(a, kind=c_int64_t)
    of(2)%extents = shape(b, kind=c_int64_t)
    of(3)%extents = shape(c, kind=c_int64_t)
  end function are_contiguous

  !> Adds what is absent: an array without extents is a number, and without strides it has Fortran's order. Returns
  !> false, with the status set, if the expression or the strides are not possible.
  logical function are_complete(status, expression, of, layout)
    type(trifuse_status), intent(inout) :: status
    character(len=*), intent(in) :: expression
    type(trifuse_strided_array), intent(inout), target :: of(3)
    type(c_layout), intent(out) :: layout(3)  !< points into `of`
    integer :: k, n
    are_complete = .not. is_cut(status, "The contraction", expression)
    if (.not. are_complete) return
    do n = 1, 3
      if (.not. allocated(of(n)%extents)) allocate (of(n)%extents(0))
      if (.not. allocated(of(n)%strides)) of(n)%strides = [(product(of(n)%extents(:k - 1)), k=1, size(of(n)%extents))]
      are_complete = size(of(n)%strides) == size(of(n)%extents)
      if (.not. are_complete) then
        call refuse(status, "A trifuse_strided_array has as many strides as extents; give one stride for each axis.")
        return
      end if
      layout(n) = c_layout(size(of(n)%extents, kind=c_int64_t), c_loc(of(n)%extents), c_loc(of(n)%strides))
    end do
  end function are_complete

  !> Returns `given`, or `otherwise` if it is absent.
  pure real(c_double) function factor(given, otherwise)
    real(c_double), intent(in), optional :: given
    integer, intent(in) :: otherwise
    factor = real(otherwise, c_double)
    if (present(given)) factor = given
  end function factor

end module trifuse_contraction

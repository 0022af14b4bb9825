! Contractions of Fortran arrays, compared with loops.
program contraction_test
  use, intrinsic :: iso_c_binding, only: c_double, c_int64_t, c_loc
  use trifuse, only: trifuse_bad_usage, trifuse_message, trifuse_status, trifuse_success
  use trifuse_contraction
  implicit none
  integer, parameter :: ni = 3, na = 4, ne = 5, nb = 2
  real(c_double), target :: a(ni, na, ne), b(ne, nb), c(nb, na, ni), expected(nb, na, ni), wide(2*ne, nb), number
  type(trifuse_status) :: status

  call random_number(a)
  call random_number(b)
  call multiply()
  call test_arrays()
  call test_numbers()
  call test_strides()
  call test_refusals()
  call test_gpus()

contains

  !> expected(b,a,i) = sum_e a(i,a,e) b(e,b)
  subroutine multiply()
    integer :: i, j, k
    do i = 1, ni
      do j = 1, na
        do k = 1, nb
          expected(k, j, i) = sum(a(i, j, :)*b(:, k))
        end do
      end do
    end do
  end subroutine multiply

  subroutine test_arrays()
    c = transfer(9221120237041090560_c_int64_t, 0.0_c_double)  ! NaN; not read
    call trifuse_contract(status, "iae,eb->bai", a, b, c)
    call expect(status%code == trifuse_success, trifuse_message(status))
    call expect(maxval(abs(c - expected)) < 1e-14_c_double, "a contraction")
    call trifuse_contract(status, "iae,eb->bai", a, b, c, alpha=-2.0_c_double, beta=3.0_c_double, threads=1)
    call expect(maxval(abs(c - expected)) < 1e-13_c_double, "alpha and beta")
    call trifuse_contract(status, "ae,eb->ab", a(2, :, :), b, c(:na/2, :, 1))
    call expect(status%code == trifuse_bad_usage .and. index(trifuse_message(status), "not contiguous") > 0, "a section")
  end subroutine test_arrays

  !> All indices are contracted, so C is a number.
  subroutine test_numbers()
    call trifuse_contract(status, "eb,eb->", b, b, number)
    call expect(abs(number - sum(b*b)) < 1e-14_c_double, "a scalar product")
    call trifuse_contract(status, ",->", number, number, c(1, 1, 1))
    call expect(abs(c(1, 1, 1) - number**2) < 1e-13_c_double, "a product of numbers")
  end subroutine test_numbers

  !> Every second element of the first axis of `wide`.
  subroutine test_strides()
    type(trifuse_strided_array) :: of_a, of_b, of_c
    wide = 100.0_c_double
    wide(::2, :) = b
    of_a%data = c_loc(a)
    of_a%extents = shape(a, kind=c_int64_t)
    of_b%data = c_loc(wide)
    of_b%extents = shape(b, kind=c_int64_t)
    of_b%strides = [2_c_int64_t, 2_c_int64_t*ne]
    of_c%data = c_loc(c)
    of_c%extents = shape(c, kind=c_int64_t)
    call trifuse_contract(status, "iae,eb->bai", of_a, of_b, of_c)
    call expect(maxval(abs(c - expected)) < 1e-14_c_double, "strides")
    of_b%strides = [2_c_int64_t]
    call trifuse_contract(status, "iae,eb->bai", of_a, of_b, of_c)
    call expect(status%code == trifuse_bad_usage .and. index(trifuse_message(status), "as many strides") > 0, "one stride")
  end subroutine test_strides

  !> Contractions on GPUs, which a program without them refuses.
  subroutine test_gpus()
    type(trifuse_strided_array) :: of_a, of_b, of_c
    call trifuse_contract_on_gpus(status, "iae,eb->bai", a, b, c, gpus=[-1])
    call expect_no_gpu()
    call trifuse_contract_on_gpus(status, "iae,eb->bai", a, b, c, memory=-1_c_int64_t)
    call expect(index(trifuse_message(status), "limit of memory is -1") > 0, "a limit of memory")
    call trifuse_contract_on_gpus(status, "ae,eb->ab", a(2, :, :), b, c(:na/2, :, 1))
    call expect(index(trifuse_message(status), "not contiguous") > 0, "a section on GPUs")
    of_a%data = c_loc(a)
    of_a%extents = shape(a, kind=c_int64_t)
    of_b%data = c_loc(b)
    of_b%extents = shape(b, kind=c_int64_t)
    of_c%data = c_loc(c)
    of_c%extents = shape(c, kind=c_int64_t)
    call trifuse_contract_in_gpu_memory(status, "iae,eb->bai", of_a, of_b, of_c, gpu=-1)
    call expect_no_gpu()
  end subroutine test_gpus

  subroutine expect_no_gpu()
    call expect(status%code == trifuse_bad_usage, trifuse_message(status))
    call expect(index(trifuse_message(status), "GPU") + index(trifuse_message(status), "NVIDIA") &
      & + index(trifuse_message(status), "built without CUDA") > 0, trifuse_message(status))
  end subroutine expect_no_gpu

  subroutine test_refusals()
    call trifuse_contract(status, "iae,eb->bae", a, b, c)
    call expect(status%code == trifuse_bad_usage .and. index(trifuse_message(status), "Index i") > 0, "an index without a partner")
    call trifuse_contract(status, "iae,eb->bai"//achar(0)//"x", a, b, c)
    call expect(status%code == trifuse_bad_usage .and. index(trifuse_message(status), "null character") > 0, "a null character")
  end subroutine test_refusals

  subroutine expect(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    print '(2a)', "FAILED: ", what
    error stop 1
  end subroutine expect

end program contraction_test

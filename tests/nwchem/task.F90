!> Calls the symbols as NWChem's Fortran does, without interfaces and with 8-byte default integers: two tasks with all 27
!> kernels, compared with their formulas, and what goes wrong.
module host_program
  implicit none
  character(len=1000) :: told = ""
end module host_program

!> NWChem's way out ends the program; this one remembers.
subroutine errquit(text, number, error)
  use host_program, only: told
  implicit none
  character(len=*), intent(in) :: text
  integer, intent(in) :: number, error
  told = text
  if (number /= 0 .or. error /= -1) error stop "numbers of errquit"
end subroutine errquit

!> Number of a rank on its node.
function my_smp_index() bind(c, name="util_my_smp_index") result(number)
  use, intrinsic :: iso_c_binding, only: c_int
  integer(c_int) :: number
  number = 0_c_int
end function my_smp_index

program task
  use host_program, only: told
  implicit none
  integer, parameter :: dp = kind(1.0d0)
  integer, external :: check_device
  external :: device_init, initmemmodule, finalizememmodule, dev_mem_s, dev_mem_d, dev_release, compute_en
  external :: sd_t_s1_1_cuda, sd_t_s1_2_cuda, sd_t_s1_3_cuda, sd_t_s1_4_cuda, sd_t_s1_5_cuda, sd_t_s1_6_cuda
  external :: sd_t_s1_7_cuda, sd_t_s1_8_cuda, sd_t_s1_9_cuda
  external :: sd_t_d1_1_cuda, sd_t_d1_2_cuda, sd_t_d1_3_cuda, sd_t_d1_4_cuda, sd_t_d1_5_cuda, sd_t_d1_6_cuda
  external :: sd_t_d1_7_cuda, sd_t_d1_8_cuda, sd_t_d1_9_cuda
  external :: sd_t_d2_1_cuda, sd_t_d2_2_cuda, sd_t_d2_3_cuda, sd_t_d2_4_cuda, sd_t_d2_5_cuda, sd_t_d2_6_cuda
  external :: sd_t_d2_7_cuda, sd_t_d2_8_cuda, sd_t_d2_9_cuda
  ! Which tile of the task each tile of a call is, and the sign: p4 p5 p6, h1 h2 h3.
  integer, parameter :: s1(7, 9) = reshape([1,2,3, 1,2,3, 1,  1,2,3, 2,1,3, -1,  1,2,3, 3,1,2, 1, &
    & 2,1,3, 1,2,3, -1,  2,1,3, 2,1,3, 1,  2,1,3, 3,1,2, -1, &
    & 3,1,2, 1,2,3, 1,  3,1,2, 2,1,3, -1,  3,1,2, 3,1,2, 1], [7, 9])
  integer, parameter :: d1(7, 9) = reshape([1,2,3, 1,2,3, -1,  1,2,3, 2,1,3, 1,  1,2,3, 3,1,2, -1, &
    & 2,3,1, 1,2,3, -1,  2,3,1, 2,1,3, 1,  2,3,1, 3,1,2, -1, &
    & 1,3,2, 1,2,3, 1,  1,3,2, 2,1,3, -1,  1,3,2, 3,1,2, 1], [7, 9])
  integer, parameter :: d2(7, 9) = reshape([1,2,3, 1,2,3, -1,  1,2,3, 2,3,1, -1,  1,2,3, 1,3,2, 1, &
    & 2,1,3, 1,2,3, 1,  2,1,3, 2,3,1, 1,  2,1,3, 1,3,2, -1, &
    & 3,1,2, 1,2,3, -1,  3,1,2, 2,3,1, -1,  3,1,2, 1,3,2, 1], [7, 9])
  integer :: device, one
  real(dp) :: t(4000), v(4000), nothing(1)

  if (storage_size(one) /= 64) error stop "NWChem's integers have 8 bytes"
  one = 1
  device = 30
  if (check_device(one) /= 1) error stop "check_device"
  call device_init(one, device)
  if (device == 30) error stop "device_init"
  call compare([3, 2, 4], [2, 4, 3])
  call compare([1, 5, 2], [3, 1, 4])

  call sd_t_d1_5_cuda(one, one, one, one, one, one, one, nothing, t, v)
  if (index(told, "Kernel d1_5 was called before") == 0) error stop "a kernel without its memory"

contains

  !> A number from its place, without a pattern.
  real(dp) function made(n, seed)
    integer, intent(in) :: n, seed
    made = sin(12.9898_dp * n + 78.233_dp * seed + 0.37_dp * n * seed)
  end function made

  subroutine compare(p, h)
    integer, intent(in) :: p(3), h(3)
    real(dp) :: single(h(3), h(2), h(1), p(3), p(2), p(1)), double(h(3), h(2), h(1), p(3), p(2), p(1))
    real(dp) :: eh1(h(1)), eh2(h(2)), eh3(h(3)), ep4(p(1)), ep5(p(2)), ep6(p(3)), factor, energy(2), expected(2), bottom
    integer :: a, b, c, i, j, k, n
    single = 0.0_dp
    double = 0.0_dp
    factor = 0.5_dp
    eh1 = [(-1.0_dp - 0.1_dp * n, n = 1, h(1))]
    eh2 = [(-2.0_dp - 0.3_dp * n, n = 1, h(2))]
    eh3 = [(-3.0_dp - 0.2_dp * n, n = 1, h(3))]
    ep4 = [(0.5_dp + 0.7_dp * n, n = 1, p(1))]
    ep5 = [(0.4_dp + 0.6_dp * n, n = 1, p(2))]
    ep6 = [(0.3_dp + 0.5_dp * n, n = 1, p(3))]
    call initmemmodule()
    call dev_mem_s(h(1), h(2), h(3), p(1), p(2), p(3))
    do n = 1, 9
      call one_call(0, n, s1(:, n), p, h, 1, single)
    end do
    call dev_mem_d(h(1), h(2), h(3), p(1), p(2), p(3))
    do n = 1, 9
      call one_call(1, n, d1(:, n), p, h, 4, double)
      call one_call(1, n, d1(:, n), p, h, 3, double)
    end do
    do n = 1, 9
      call one_call(2, n, d2(:, n), p, h, 5, double)
    end do
    call compute_en(factor, energy, eh1, eh2, eh3, ep4, ep5, ep6, h(1), h(2), h(3), p(1), p(2), p(3), nothing, nothing, &
      & nothing, nothing)
    call dev_release()
    call finalizememmodule()
    if (told /= "") error stop "errquit was called"
    expected = 0.0_dp
    do a = 1, p(1); do b = 1, p(2); do c = 1, p(3); do i = 1, h(1); do j = 1, h(2); do k = 1, h(3)
      bottom = eh1(i) + eh2(j) + eh3(k) - ep4(a) - ep5(b) - ep6(c)
      expected(1) = expected(1) + factor * double(k, j, i, c, b, a)**2 / bottom
      expected(2) = expected(2) + factor * double(k, j, i, c, b, a) * (double(k, j, i, c, b, a) + single(k, j, i, c, b, a)) &
        & / bottom
    end do; end do; end do; end do; end do; end do
    print '(a,2f20.14,a,2f20.14)', "found ", energy, "  expected ", expected
    if (any(abs(energy - expected) > 1e-11_dp * abs(expected)) .or. any(abs(expected) < 1e-3_dp)) error stop "energies"
  end subroutine compare

  !> Makes operands in the buffers that all calls use, calls a kernel, and adds its formula to `block`.
  subroutine one_call(kind, n, row, p, h, contracted, block)
    integer, intent(in) :: kind, n, row(7), p(3), h(3), contracted
    real(dp), intent(inout) :: block(:, :, :, :, :, :)
    integer :: q(3), g(3), x(3), y(3), at, l, a, b, c, i, j, k, pp(3), hh(3)
    real(dp) :: total
    q = p(row(1:3))
    g = h(row(4:6))
    do at = 1, size(t)
      t(at) = made(at, 10 * kind + n)
      v(at) = made(at, 100 + 10 * kind + n)
    end do
    call kernel(kind, n, q, g, contracted)
    do a = 1, p(1); do b = 1, p(2); do c = 1, p(3); do i = 1, h(1); do j = 1, h(2); do k = 1, h(3)
      pp = [a, b, c]
      hh = [i, j, k]
      x = pp(row(1:3)) - 1
      y = hh(row(4:6)) - 1
      total = 0.0_dp
      do l = 0, contracted - 1
        select case (kind)
        case (0)
          total = total + t(1 + x(1) + q(1) * y(1)) * v(1 + y(3) + g(3) * (y(2) + g(2) * (x(3) + q(3) * x(2))))
        case (1)
          total = total + t(1 + l + contracted * (x(1) + q(1) * (x(2) + q(2) * y(1)))) &
            & * v(1 + y(3) + g(3) * (y(2) + g(2) * (x(3) + q(3) * l)))
        case (2)
          total = total + t(1 + l + contracted * (x(1) + q(1) * (y(1) + g(1) * y(2)))) &
            & * v(1 + l + contracted * (y(3) + g(3) * (x(3) + q(3) * x(2))))
        end select
      end do
      block(k, j, i, c, b, a) = block(k, j, i, c, b, a) + row(7) * total
    end do; end do; end do; end do; end do; end do
    t = 0.0_dp
    v = 0.0_dp
  end subroutine one_call

  subroutine kernel(kind, n, q, g, contracted)
    integer, intent(in) :: kind, n, q(3), g(3), contracted
    select case (10 * kind + n)
    case (1); call singles(sd_t_s1_1_cuda, q, g)
    case (2); call singles(sd_t_s1_2_cuda, q, g)
    case (3); call singles(sd_t_s1_3_cuda, q, g)
    case (4); call singles(sd_t_s1_4_cuda, q, g)
    case (5); call singles(sd_t_s1_5_cuda, q, g)
    case (6); call singles(sd_t_s1_6_cuda, q, g)
    case (7); call singles(sd_t_s1_7_cuda, q, g)
    case (8); call singles(sd_t_s1_8_cuda, q, g)
    case (9); call singles(sd_t_s1_9_cuda, q, g)
    case (11); call doubles1(sd_t_d1_1_cuda, q, g, contracted)
    case (12); call doubles1(sd_t_d1_2_cuda, q, g, contracted)
    case (13); call doubles1(sd_t_d1_3_cuda, q, g, contracted)
    case (14); call doubles1(sd_t_d1_4_cuda, q, g, contracted)
    case (15); call doubles1(sd_t_d1_5_cuda, q, g, contracted)
    case (16); call doubles1(sd_t_d1_6_cuda, q, g, contracted)
    case (17); call doubles1(sd_t_d1_7_cuda, q, g, contracted)
    case (18); call doubles1(sd_t_d1_8_cuda, q, g, contracted)
    case (19); call doubles1(sd_t_d1_9_cuda, q, g, contracted)
    case (21); call doubles2(sd_t_d2_1_cuda, q, g, contracted)
    case (22); call doubles2(sd_t_d2_2_cuda, q, g, contracted)
    case (23); call doubles2(sd_t_d2_3_cuda, q, g, contracted)
    case (24); call doubles2(sd_t_d2_4_cuda, q, g, contracted)
    case (25); call doubles2(sd_t_d2_5_cuda, q, g, contracted)
    case (26); call doubles2(sd_t_d2_6_cuda, q, g, contracted)
    case (27); call doubles2(sd_t_d2_7_cuda, q, g, contracted)
    case (28); call doubles2(sd_t_d2_8_cuda, q, g, contracted)
    case (29); call doubles2(sd_t_d2_9_cuda, q, g, contracted)
    case default; error stop "no such kernel"
    end select
  end subroutine kernel

  subroutine singles(symbol, q, g)
    external :: symbol
    integer, intent(in) :: q(3), g(3)
    call symbol(g(1), g(2), g(3), q(1), q(2), q(3), nothing, t, v)
  end subroutine singles
  subroutine doubles1(symbol, q, g, contracted)
    external :: symbol
    integer, intent(in) :: q(3), g(3), contracted
    call symbol(g(1), g(2), g(3), contracted, q(1), q(2), q(3), nothing, t, v)
  end subroutine doubles1
  subroutine doubles2(symbol, q, g, contracted)
    external :: symbol
    integer, intent(in) :: q(3), g(3), contracted
    call symbol(g(1), g(2), g(3), q(1), q(2), q(3), contracted, nothing, t, v)
  end subroutine doubles2

end program task

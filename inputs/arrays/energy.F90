! The (T) energy from dense arrays of a Fortran program: water, STO-3G.
!
! water.txt stands for the arrays that a coupled-cluster program has in memory. It contains the elements with the last
! index fastest. So the Fortran arrays have their indices in the reverse order: t2(b,a,j,i). The library reads the
! arrays in place. energy.c reads the same file.
program energy
  use, intrinsic :: iso_c_binding, only: c_double, c_int64_t
  use trifuse
  use trifuse_dense
  implicit none
  real(c_double), allocatable, target :: eps_occ(:), eps_vir(:), t1(:, :), t2(:, :, :, :), ovvv(:, :, :, :)
  real(c_double), allocatable, target :: ovoo(:, :, :, :), ovov(:, :, :, :), oovv(:, :, :, :), fock(:, :)
  type(trifuse_arrays) :: arrays
  type(trifuse_status) :: status
  type(trifuse_amplitudes) :: amplitudes
  type(trifuse_calculation) :: calculation
  real(c_double) :: omega2, bracket_energy, paren_energy, total_energy
  character(len=1000) :: path
  integer :: file, o, v

  path = "water.txt"
  if (command_argument_count() > 0) call get_command_argument(1, path)
  o = 5
  v = 2
  allocate (eps_occ(o), eps_vir(v), t1(v, o), t2(v, v, o, o), ovvv(v, v, v, o), ovoo(o, o, v, o), ovov(v, o, v, o))
  allocate (oovv(v, v, o, o), fock(o + v, o + v))
  open (newunit=file, file=trim(path), status="old", action="read")
  call skip_line(); read (file, *) eps_occ
  call skip_line(); read (file, *) eps_vir
  call skip_line(); read (file, *) t1
  call skip_line(); read (file, *) t2
  call skip_line(); read (file, *) ovvv
  call skip_line(); read (file, *) ovoo
  call skip_line(); read (file, *) ovov
  call skip_line(); read (file, *) oovv
  call skip_line(); read (file, *) fock
  close (file)

  arrays%reference = trifuse_rhf
  arrays%correlation_energy = -0.049467487020763_c_double  ! optional: the library compares it with the arrays
  arrays%scf_energy = -74.963063120422_c_double            ! optional: for the total energy
  call trifuse_add_array(arrays, "eps_occ", eps_occ)
  call trifuse_add_array(arrays, "eps_vir", eps_vir)
  call trifuse_add_array(arrays, "t1", t1, reversed=.true.)
  call trifuse_add_array(arrays, "t2", t2, reversed=.true.)
  call trifuse_add_array(arrays, "ovvv", ovvv, reversed=.true.)
  call trifuse_add_array(arrays, "ovoo", ovoo, reversed=.true.)
  call trifuse_add_array(arrays, "ovov", ovov, reversed=.true.)
  call trifuse_add_array(arrays, "oovv", oovv, reversed=.true.)
  call trifuse_add_array(arrays, "fock", fock, reversed=.true.)
  call trifuse_new_dense_amplitudes(status, amplitudes, arrays)
  call stop_if_failed()
  call trifuse_new_calculation(status, calculation, amplitudes)
  call stop_if_failed()
  call trifuse_run(status, calculation)
  call stop_if_failed()
  call trifuse_get_energy(status, calculation, 1_c_int64_t, omega2, bracket_energy, paren_energy)
  call trifuse_get_total_energy(status, calculation, 1_c_int64_t, total_energy)
  print "(a,f16.12,a,f16.12,a,f16.10,a)", "E[T]", bracket_energy, "  E(T)", paren_energy, "  E(CCSD(T))", total_energy, &
    & " hartree"
  call trifuse_delete_calculation(calculation)
  call trifuse_delete_amplitudes(amplitudes)

contains

  !> Skips the name and the shape of an array.
  subroutine skip_line()
    read (file, *)
  end subroutine skip_line

  subroutine stop_if_failed()
    if (status%code == trifuse_success) return
    print "(a)", trifuse_message(status)
    stop 1
  end subroutine stop_if_failed
end program energy

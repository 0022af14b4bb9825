! Another method than (T) from dense arrays: LiH at 2.4 angstrom, STO-3G, with the arrays for dressed moments.
program methods_test
  use, intrinsic :: iso_c_binding, only: c_double, c_int64_t
  use trifuse
  use trifuse_dense
  implicit none
  real(c_double), parameter :: expected_bracket = -3.316101638924e-5_c_double, expected_paren = -3.074043648605e-5_c_double
  integer, parameter :: o = 2, v = 4
  real(c_double), target :: eps_occ(o), eps_vir(v), t1(v, o), t2(v, v, o, o), ovvv(v, v, v, o), ovoo(o, o, v, o)
  real(c_double), target :: ovov(v, o, v, o), oovv(v, v, o, o), fock(o + v, o + v), oooo(o, o, o, o), kvvv(v, v, v, o)
  real(c_double), target :: ladder(v, v, o, o), vvvv_diag(v, v, 2)
  type(trifuse_status) :: status
  type(trifuse_amplitudes) :: amplitudes
  type(trifuse_calculation) :: calculation
  type(trifuse_arrays) :: arrays
  character(len=:), allocatable :: text
  character(len=1000) :: path
  real(c_double) :: omega2, bracket_energy, paren_energy
  integer :: file

  call get_command_argument(1, path)
  open (newunit=file, file=trim(path), status="old", action="read")
  read (file, *); read (file, *) eps_occ
  read (file, *); read (file, *) eps_vir
  read (file, *); read (file, *) t1
  read (file, *); read (file, *) t2
  read (file, *); read (file, *) ovvv
  read (file, *); read (file, *) ovoo
  read (file, *); read (file, *) ovov
  read (file, *); read (file, *) oovv
  read (file, *); read (file, *) fock
  read (file, *); read (file, *) oooo
  read (file, *); read (file, *) kvvv
  read (file, *); read (file, *) ladder
  read (file, *); read (file, *) vvvv_diag
  close (file)
  call trifuse_add_array(arrays, "eps_occ", eps_occ)
  call trifuse_add_array(arrays, "eps_vir", eps_vir)
  call trifuse_add_array(arrays, "t1", t1, reversed=.true.)
  call trifuse_add_array(arrays, "t2", t2, reversed=.true.)
  call trifuse_add_array(arrays, "ovvv", ovvv, reversed=.true.)
  call trifuse_add_array(arrays, "ovoo", ovoo, reversed=.true.)
  call trifuse_add_array(arrays, "ovov", ovov, reversed=.true.)
  call trifuse_add_array(arrays, "oovv", oovv, reversed=.true.)
  call trifuse_add_array(arrays, "fock", fock, reversed=.true.)
  call trifuse_add_array(arrays, "oooo", oooo, reversed=.true.)
  call trifuse_add_array(arrays, "kvvv", kvvv, reversed=.true.)
  call trifuse_add_array(arrays, "ladder", ladder, reversed=.true.)
  call trifuse_add_array(arrays, "vvvv_diag", vvvv_diag, reversed=.true.)
  call trifuse_new_dense_amplitudes(status, amplitudes, arrays)
  call expect_success()
  call trifuse_new_calculation(status, calculation, amplitudes)
  call expect_success()
  call trifuse_set_device(status, calculation, trifuse_device_cpu)
  call trifuse_set_option(status, calculation, "method", "ct")
  call expect_success()
  call trifuse_run(status, calculation)
  call expect_success()
  call trifuse_get_energy(status, calculation, 1_c_int64_t, omega2, bracket_energy, paren_energy)
  call trifuse_get_method(status, calculation, 1_c_int64_t, text)
  call expect(text == "CCSD(cT)", "the name of the method")
  deallocate (text)  ! a main program keeps it to its end, which the sanitizers call a leak
  call expect(abs(bracket_energy - expected_bracket) < 1e-12_c_double, "E[cT]")
  call expect(abs(paren_energy - expected_paren) < 1e-12_c_double, "E(cT)")
  call trifuse_set_option(status, calculation, "method", "2t")
  call trifuse_run(status, calculation)
  call expect(index(trifuse_message(status), "need Lambda amplitudes") > 0, "a method that lacks amplitudes")
  call trifuse_delete_calculation(calculation)
  call trifuse_delete_amplitudes(amplitudes)

contains

  subroutine expect_success()
    call expect(status%code == trifuse_success, trifuse_message(status))
  end subroutine expect_success

  subroutine expect(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    print "(2a)", "FAILED: ", what
    stop 1
  end subroutine expect
end program methods_test

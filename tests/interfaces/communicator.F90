! A run of several processes with dense arrays: `mpiexec -n N communicator water.txt`. Every rank has the arrays in its
! memory, and gets the energy of one process.
program communicator_test
  use, intrinsic :: iso_c_binding, only: c_double, c_int64_t
  use mpi
  use trifuse
  use trifuse_dense
  use trifuse_mpi
  implicit none
  integer, parameter :: o = 5, v = 2
  real(c_double), target :: eps_occ(o), eps_vir(v), t1(v, o), t2(v, v, o, o), ovvv(v, v, v, o), ovoo(o, o, v, o)
  real(c_double), target :: ovov(v, o, v, o)
  type(trifuse_arrays) :: arrays
  type(trifuse_status) :: status
  type(trifuse_amplitudes) :: amplitudes
  type(trifuse_calculation) :: calculation
  character(len=1000) :: path
  character(len=:), allocatable :: report
  real(c_double) :: alone, together
  integer :: file, failures, all, error, ranks

  failures = 0
  call MPI_Init(error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call get_command_argument(1, path)
  open (newunit=file, file=trim(path), status="old", action="read")
  read (file, *); read (file, *) eps_occ
  read (file, *); read (file, *) eps_vir
  read (file, *); read (file, *) t1
  read (file, *); read (file, *) t2
  read (file, *); read (file, *) ovvv
  read (file, *); read (file, *) ovoo
  read (file, *); read (file, *) ovov
  close (file)
  call trifuse_add_array(arrays, "eps_occ", eps_occ)
  call trifuse_add_array(arrays, "eps_vir", eps_vir)
  call trifuse_add_array(arrays, "t1", t1, reversed=.true.)
  call trifuse_add_array(arrays, "t2", t2, reversed=.true.)
  call trifuse_add_array(arrays, "ovvv", ovvv, reversed=.true.)
  call trifuse_add_array(arrays, "ovoo", ovoo, reversed=.true.)
  call trifuse_add_array(arrays, "ovov", ovov, reversed=.true.)
  call trifuse_new_dense_amplitudes(status, amplitudes, arrays)
  call trifuse_new_calculation(status, calculation, amplitudes)
  call trifuse_set_device(status, calculation, trifuse_device_cpu)
  call trifuse_set_tile_size(status, calculation, 1_c_int64_t)
  alone = energy()
  call trifuse_set_communicator(status, calculation, MPI_COMM_NULL)
  call expect(status%code == trifuse_bad_usage, "no communicator")
  call trifuse_set_communicator(status, calculation, MPI_COMM_WORLD)
  call expect(status%code == trifuse_success, "a communicator")
  together = energy()
  call expect(together == alone .and. abs(alone + 0.000067337722_c_double) < 1e-12_c_double, "the bits of one process")
  call trifuse_get_report(status, calculation, report)
  call expect(index(report, '"ranks"') > 0, "the report lists the ranks")
  call trifuse_delete_calculation(calculation)
  call trifuse_delete_amplitudes(amplitudes)
  call MPI_Allreduce(failures, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_Finalize(error)
  deallocate (report)  ! a main program keeps it to its end, which the sanitizers call a leak
  if (all > 0) stop 1

contains

  function energy() result(paren_energy)
    real(c_double) :: paren_energy, omega2, bracket_energy
    paren_energy = 0.0_c_double
    call trifuse_run(status, calculation)
    call expect(status%code == trifuse_success, "a run: "//trifuse_message(status))
    call trifuse_get_energy(status, calculation, 1_c_int64_t, omega2, bracket_energy, paren_energy)
  end function energy

  subroutine expect(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    print "(2a)", "FAILED: ", what
    failures = failures + 1
  end subroutine expect
end program communicator_test

!> The Fortran interface on one molecule, compiled with 4-byte and with 8-byte default integers.
program energy
  use, intrinsic :: iso_c_binding, only: c_double, c_int64_t
  use trifuse
  implicit none
  type(trifuse_status) :: status
  type(trifuse_amplitudes) :: water, nothing
  type(trifuse_calculation) :: calculation, impossible
  real(c_double) :: correlation, omega2, bracket, paren
  integer(c_int64_t) :: count
  character(len=1000) :: path

  call get_command_argument(1, path)
  if (len(trifuse_version()) < 5) error stop "a version"
  call trifuse_open_amplitudes(status, water, path)
  call expect_success("open")
  call trifuse_correlation_energy(status, water, correlation)
  call expect(abs(correlation + 0.213343229409_c_double) < 1e-10_c_double, "CCSD energy")
  call trifuse_new_calculation(status, calculation, water)
  call expect_success("new calculation")
  call trifuse_set_omega2(status, calculation, [0.0_c_double, 0.1_c_double])
  call trifuse_set_form(status, calculation, trifuse_form_spin_orbital)
  call trifuse_set_tile_size(status, calculation, 5_c_int64_t)
  call expect_success("settings")
  call trifuse_run(status, calculation)
  call expect_success("run")
  call trifuse_energy_count(status, calculation, count)
  call expect(count == 2_c_int64_t, "two energies")
  call trifuse_get_energy(status, calculation, 1_c_int64_t, omega2, bracket, paren)
  call expect_success("energy")
  call expect(abs(bracket + 0.00314550539348_c_double) < 1e-10_c_double, "E[T]")
  call expect(abs(paren + 0.00306002229317_c_double) < 1e-10_c_double, "E(T)")
  call trifuse_get_energy(status, calculation, 3_c_int64_t, omega2, bracket, paren)
  call expect(status%code == trifuse_bad_usage .and. len(trifuse_message(status)) > 20, "an index too large")
  call trifuse_open_amplitudes(status, nothing, "no/such/file")
  call expect(status%code == trifuse_bad_input, "absent file")
  call expect(index(trifuse_message(status), "no/such/file") > 0, "the message names the file")
  call refuse_null()
  call trifuse_new_calculation(status, impossible, nothing)
  call expect(status%code == trifuse_bad_handle, "a null handle")
  call trifuse_delete_calculation(calculation)
  call trifuse_delete_amplitudes(water)

contains

  !> Refuses paths that C would cut, so that another file would be read or written. A path may end as C's strings end.
  subroutine refuse_null()
    type(trifuse_amplitudes) :: same
    call trifuse_open_amplitudes(status, nothing, trim(path)//achar(0)//".h5")
    call expect_cut("path to open")
    call trifuse_open_left_amplitudes(status, nothing, trim(path)//achar(0)//".h5", water)
    call expect_cut("path of left amplitudes")
    call trifuse_open_doubtful_amplitudes(status, nothing, trim(path)//achar(0)//".h5")
    call expect_cut("path of doubtful amplitudes")
    call trifuse_open_unverified_amplitudes(status, nothing, trim(path)//achar(0)//".h5", .false.)
    call expect_cut("path of unverified amplitudes")
    call trifuse_set_journal(status, calculation, "journal"//achar(0)//".1")
    call expect_cut("path of a journal")
    call trifuse_open_unverified_amplitudes(status, same, trim(path)//achar(0)//achar(0)//" ", .false.)
    call expect_success("a path with null characters at its end")
    call trifuse_delete_amplitudes(same)
  end subroutine refuse_null

  subroutine expect_cut(what)
    character(len=*), intent(in) :: what
    call expect(status%code == trifuse_bad_usage .and. index(trifuse_message(status), "path contains a null character") == 1, &
      & what//": "//trifuse_message(status))
  end subroutine expect_cut

  subroutine expect(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    print '(2a)', "FAILED: ", what
    error stop 1
  end subroutine expect

  subroutine expect_success(what)
    character(len=*), intent(in) :: what
    if (status%code == trifuse_success) return
    print '(3a)', what, ": ", trifuse_message(status)
    error stop 1
  end subroutine expect_success

end program energy

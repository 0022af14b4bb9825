!> Amplitudes that a Fortran program holds: those of water, handed over by a reader.
module program_data
  use, intrinsic :: iso_c_binding, only: c_double, c_int32_t, c_int64_t, c_ptr
  use trifuse
  implicit none
  type(trifuse_amplitudes) :: held

contains

  !> Delivers a block, of which Fortran would declare T2 as (h4, h3, p2, p1).
  function read_block(context, tensor, tiles, block_size, block) bind(c) result(code)
    type(c_ptr), value :: context
    integer(c_int32_t), value :: tensor
    integer(c_int64_t), intent(in) :: tiles(4)
    integer(c_int64_t), value :: block_size
    real(c_double), intent(out) :: block(block_size)
    integer(c_int32_t) :: code
    type(trifuse_status) :: status
    call trifuse_get_block(status, held, tensor, tiles, block)
    code = status%code
  end function read_block

end module program_data

program blocks
  use, intrinsic :: iso_c_binding, only: c_double, c_funloc, c_funptr, c_int64_t, c_loc
  use trifuse
  use program_data, only: held, read_block
  implicit none
  type(trifuse_status) :: status
  type(trifuse_amplitudes) :: read, doubtful
  type(trifuse_calculation) :: calculation
  type(trifuse_description) :: description
  type(trifuse_witness) :: witness
  character(len=:), allocatable :: message, warning
  type(c_funptr) :: reader
  type(trifuse_tile), allocatable, target :: tiles(:)
  real(c_double), allocatable, target :: energies(:)
  real(c_double) :: omega2, bracket, paren
  integer(c_int64_t) :: n, block_tiles(4), block_size, count
  character(len=1000) :: path

  call describe()
  call test_reader()
  call test_witnesses()
  call test_another_run()
  call test_other_checks()
  call trifuse_delete_amplitudes(held)
  deallocate (message, warning)  ! a main program keeps them to its end, which the sanitizers call a leak

contains

  !> Opens the amplitudes and describes them.
  subroutine describe()
    call get_command_argument(1, path)
    call trifuse_open_amplitudes(status, held, path)
    call expect_success("open")
    call trifuse_tile_count(status, held, description%tile_count)
    allocate(tiles(description%tile_count))
    do n = 1, description%tile_count
      call trifuse_get_tile(status, held, n, tiles(n))
      call expect_success("a tile")
    end do
    allocate(energies(sum(tiles%size)))
    call trifuse_get_orbital_energies(status, held, energies)
    call expect_success("orbital energies")
    description%tiles = c_loc(tiles)
    description%orbital_energies = c_loc(energies)
    call trifuse_correlation_energy(status, held, description%correlation_energy)
  end subroutine describe

  !> Amplitudes with a reader give NWChem's energy.
  subroutine test_reader()
    reader = c_funloc(read_block)
    call trifuse_new_amplitudes(status, read, description, reader)
    call expect_success("amplitudes with a reader")
    call trifuse_block_count(status, read, trifuse_t2, count)
    call expect(count > 1_c_int64_t, "blocks of T2")
    call trifuse_get_block_tiles(status, read, trifuse_t2, count, block_tiles, block_size)
    call expect_success("the last block of T2")
    call expect(block_size > 0_c_int64_t .and. block_tiles(1) <= block_tiles(2), "its tiles ascend")
    call trifuse_new_calculation(status, calculation, read)
    call trifuse_set_device(status, calculation, trifuse_device_auto)
    call trifuse_run(status, calculation)
    call expect_success("run")
    call trifuse_get_energy(status, calculation, 1_c_int64_t, omega2, bracket, paren)
    call expect(abs(paren + 0.00306002229317_c_double) < 1e-10_c_double, "E(T)")
    call trifuse_set_block(status, read, trifuse_t2, block_tiles, energies)
    call expect(status%code == trifuse_bad_usage, "a block of amplitudes with a reader")
    call trifuse_delete_calculation(calculation)
    call trifuse_delete_amplitudes(read)
  end subroutine test_reader

  !> With (ij|ab) the equation of the single excitations is tested completely.
  subroutine test_witnesses()
    call trifuse_get_witness(status, held, 2_c_int64_t, witness)
    call expect(witness%name == "singles equation" .and. witness%result == trifuse_witness_passed, "a witness of files")
    description%has_exchange_integrals = 1
    call trifuse_new_amplitudes(status, read, description, reader)
    call trifuse_get_witness(status, read, 2_c_int64_t, witness)
    call expect_success("a witness of blocks")
    call expect(witness%name == "singles equation" .and. witness%result == trifuse_witness_passed, &
      & "a witness of blocks")
    call expect(witness%value <= witness%limit .and. witness%note == "", "its numbers")
    call trifuse_delete_amplitudes(read)
    description%has_exchange_integrals = 0
    call trifuse_new_amplitudes(status, read, description, reader)
    call trifuse_get_witness(status, read, 2_c_int64_t, witness)
    call expect(witness%name == "singles equation without oovv", "a witness without (ij|ab)")
    call trifuse_delete_amplitudes(read)
  end subroutine test_witnesses

  !> Amplitudes with the CCSD energy of another run, refused and then trusted.
  subroutine test_another_run()
    description%correlation_energy = description%correlation_energy + 1e-3_c_double
    call trifuse_new_amplitudes(status, read, description, reader)
    call trifuse_new_calculation(status, calculation, read)
    call trifuse_run(status, calculation)
    call expect(status%code == trifuse_bad_input, "amplitudes of another run")
    message = trifuse_message(status)
    call trifuse_get_witness(status, read, 1_c_int64_t, witness)
    call expect(witness%result == trifuse_witness_failed .and. witness%note == message, "what failed")
    call trifuse_set_trust_input(status, calculation, .true.)
    call trifuse_run(status, calculation)
    call expect_success("a run that trusts its input")
    call trifuse_get_energy(status, calculation, 1_c_int64_t, omega2, bracket, paren)
    call expect(abs(paren + 0.00306002229317_c_double) < 1e-10_c_double, "E(T) of a trusted input")
    call trifuse_warning_count(status, calculation, count)
    call expect(count == 2_c_int64_t, "warnings of what the program did not pass and of what failed")
    call trifuse_get_warning(status, calculation, count, warning)
    call expect(index(warning, "CCSD energy") > 0, "its text")
    call trifuse_delete_calculation(calculation)
    call trifuse_delete_amplitudes(read)
  end subroutine test_another_run

  !> Amplitudes that are opened with fewer checks.
  subroutine test_other_checks()
    call trifuse_open_doubtful_amplitudes(status, doubtful, path)
    call expect_success("open again")
    call trifuse_delete_amplitudes(doubtful)
    call trifuse_open_unverified_amplitudes(status, doubtful, path, is_left=.true.)
    call expect_success("open without a check")
    call trifuse_delete_amplitudes(doubtful)
  end subroutine test_other_checks

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

end program blocks

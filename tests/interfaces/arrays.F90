! Dense arrays in both orders of indices: the arrays of water in inputs/arrays, whose (T) NWChem printed.
module functions_of_test
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_f_pointer, c_int32_t, c_int64_t, c_null_char, c_ptr
  implicit none

contains

  !> Counts the lines of each level. `context`: lines(0:1).
  subroutine count_lines(context, level, line) bind(c)
    type(c_ptr), value :: context
    integer(c_int32_t), value :: level
    character(kind=c_char), intent(in) :: line(*)
    integer(c_int64_t), pointer :: lines(:)
    call c_f_pointer(context, lines, [2])
    if (line(1) /= c_null_char) lines(level + 1) = lines(level + 1) + 1
  end subroutine count_lines

  !> Copies a box of the array ovvv(v,v,v,o), which has five occupied and two virtual orbitals. `context`: the array.
  function read_box(context, offset, count, box) bind(c) result(code)
    type(c_ptr), value :: context
    integer(c_int64_t), intent(in) :: offset(4), count(4)
    real(c_double), intent(out) :: box(count(4), count(3), count(2), count(1))
    integer(c_int32_t) :: code
    real(c_double), pointer :: ovvv(:, :, :, :)
    call c_f_pointer(context, ovvv, [2, 2, 2, 5])
    box = ovvv(offset(4) + 1:offset(4) + count(4), offset(3) + 1:offset(3) + count(3), &
      & offset(2) + 1:offset(2) + count(2), offset(1) + 1:offset(1) + count(1))
    code = 0_c_int32_t
  end function read_box

  !> Cancels a run that has not finished all of its work.
  function cancel(context, done, total) bind(c) result(code)
    type(c_ptr), value :: context
    real(c_double), value :: done, total
    integer(c_int32_t) :: code
    code = merge(1_c_int32_t, 0_c_int32_t, done < total .or. total == 0.0_c_double)
  end function cancel
end module functions_of_test

program arrays_test
  use, intrinsic :: iso_c_binding, only: c_double, c_int32_t, c_int64_t, c_funloc, c_funptr, c_loc, c_null_ptr
  use functions_of_test
  use trifuse
  use trifuse_dense
  use trifuse_derivatives
  implicit none
  real(c_double), parameter :: nwchem = -0.000067337722_c_double
  integer, parameter :: o = 5, v = 2
  real(c_double), target :: eps_occ(o), eps_vir(v), t1(v, o), t2(v, v, o, o), ovvv(v, v, v, o), ovoo(o, o, v, o)
  real(c_double), target :: ovov(v, o, v, o), oovv(v, v, o, o), fock(o + v, o + v)
  real(c_double), target :: t1_f(o, v), t2_f(o, o, v, v), ovvv_f(o, v, v, v), ovoo_f(o, v, o, o), ovov_f(o, v, o, v)
  real(c_double), target :: packed(v*(v + 1)/2, v, o), wide(2*v, o)
  integer(c_int32_t), target :: irrep_occ(o), irrep_vir(v)
  integer(c_int64_t), target :: long_irrep_occ(o)
  type(trifuse_status) :: status
  type(trifuse_amplitudes) :: amplitudes
  type(trifuse_calculation) :: calculation
  type(trifuse_arrays) :: arrays
  type(c_funptr) :: function
  character(len=:), allocatable :: text
  character(len=1000) :: path
  real(c_double) :: energy, expected, bracket_energy, paren_energy, total
  integer(c_int64_t), target :: lines(2)
  integer(c_int32_t) :: spin_case
  integer :: file, failures, b, c

  failures = 0
  call read_arrays()
  call test_orders()
  call test_packed()
  call test_pointers()
  call test_messages()
  call test_precision()
  call test_results()
  call test_refusals()
  call test_derivatives()
  deallocate (text)  ! a main program keeps it to its end, which the sanitizers call a leak
  if (failures > 0) stop 1

contains

  !> Reads the arrays from the file that the argument names.
  subroutine read_arrays()
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
    close (file)
  end subroutine read_arrays

  !> Both orders of the indices: that of C, and that of the format page.
  subroutine test_orders()
    ! Reverse order of the indices: the order of C.
    call begin()
    call trifuse_add_array(arrays, "t1", t1, reversed=.true.)
    call trifuse_add_array(arrays, "t2", t2, reversed=.true.)
    call trifuse_add_array(arrays, "ovvv", ovvv, reversed=.true.)
    call trifuse_add_array(arrays, "ovoo", ovoo, reversed=.true.)
    call trifuse_add_array(arrays, "ovov", ovov, reversed=.true.)
    call trifuse_add_array(arrays, "oovv", oovv, reversed=.true.)
    expected = energy_of("reverse order")
    call expect(abs(expected - nwchem) < 1e-12_c_double, "NWChem's energy")

    ! The order of the format page.
    t1_f = reshape(t1, shape(t1_f), order=[2, 1])
    t2_f = reshape(t2, shape(t2_f), order=[4, 3, 2, 1])
    ovvv_f = reshape(ovvv, shape(ovvv_f), order=[4, 3, 2, 1])
    ovoo_f = reshape(ovoo, shape(ovoo_f), order=[4, 3, 2, 1])
    ovov_f = reshape(ovov, shape(ovov_f), order=[4, 3, 2, 1])
    irrep_occ = 0
    irrep_vir = 0
    long_irrep_occ = 0
    call begin()
    call trifuse_add_array(arrays, "t1", t1_f)
    call trifuse_add_array(arrays, "t2", t2_f, reversed=.false.)
    call trifuse_add_array(arrays, "ovvv", ovvv_f)
    call trifuse_add_array(arrays, "ovoo", ovoo_f)
    call trifuse_add_array(arrays, "ovov", ovov_f)
    call trifuse_add_array(arrays, "irrep_occ", long_irrep_occ)
    call trifuse_add_array(arrays, "irrep_vir", irrep_vir)
    call expect(energy_of("order of the format page") == expected, "the same bits in the order of the format page")
  end subroutine test_orders

  !> Packed integrals.
  subroutine test_packed()
    do b = 1, v
      do c = 1, b
        packed(b*(b - 1)/2 + c, :, :) = ovvv(c, b, :, :)
      end do
    end do
    call begin()
    call trifuse_add_array(arrays, "t1", t1, reversed=.true.)
    call trifuse_add_array(arrays, "t2", t2, reversed=.true.)
    call trifuse_add_array(arrays, "ovvv", packed, reversed=.true.)
    call trifuse_add_array(arrays, "ovoo", ovoo, reversed=.true.)
    call trifuse_add_array(arrays, "ovov", ovov, reversed=.true.)
    arrays%source = "my program"
    call expect(abs(energy_of("packed") - expected) < 1e-15_c_double, "the same energy from packed integrals")
  end subroutine test_packed

  !> Arrays by their address, with strides, and integrals that a function delivers.
  subroutine test_pointers()
    call begin()
    call trifuse_add_pointer(arrays, "t1", c_loc(t1), [5_c_int64_t, 2_c_int64_t])
    call trifuse_add_pointer(arrays, "t2", c_loc(t2_f), [5_c_int64_t, 5_c_int64_t, 2_c_int64_t, 2_c_int64_t], &
      & [1_c_int64_t, 5_c_int64_t, 25_c_int64_t, 50_c_int64_t])
    function = c_funloc(read_box)
    call trifuse_add_reader(arrays, "ovvv", [5_c_int64_t, 2_c_int64_t, 2_c_int64_t, 2_c_int64_t], function, c_loc(ovvv))
    call trifuse_add_array(arrays, "ovoo", ovoo, reversed=.true.)
    call trifuse_add_array(arrays, "ovov", ovov, reversed=.true.)
    arrays%program = "the test"
    arrays%molecule = "water"
    arrays%basis = "STO-3G"
    call expect(energy_of("pointers and a reader") == expected, "the same bits from pointers and a reader")
  end subroutine test_pointers

  !> Messages, the report and spin cases. The arrays are those of test_pointers.
  subroutine test_messages()
    call trifuse_new_dense_amplitudes(status, amplitudes, arrays)
    call trifuse_new_calculation(status, calculation, amplitudes)
    call trifuse_delete_amplitudes(amplitudes)
    lines = 0
    function = c_funloc(count_lines)
    call trifuse_set_log(status, calculation, function, c_loc(lines))
    call trifuse_run(status, calculation)
    call expect(status%code == trifuse_success .and. lines(1) > 3 .and. lines(2) == 1, &
      & "messages, and a warning of arrays that were not passed")
    call trifuse_get_report(status, calculation, text)
    call expect(index(text, '"the test"') > 0 .and. index(text, '"STO-3G"') > 0, &
      & "the origin of the arrays in the report")
    total = 0.0_c_double
    do spin_case = trifuse_aaa, trifuse_bbb
      call trifuse_get_spin_case(status, calculation, 1_c_int64_t, spin_case, bracket_energy, paren_energy)
      call expect(status%code == trifuse_success, "a spin case")
      total = total + paren_energy
    end do
    call expect(abs(total - expected) < 1e-16_c_double, "the sum of the spin cases")
    call trifuse_get_spin_case(status, calculation, 1_c_int64_t, 4_c_int32_t, bracket_energy, paren_energy)
    call expect(status%code == trifuse_bad_usage, "an impossible spin case")
  end subroutine test_messages

  !> Mixed precision, and the warning of a run without a check.
  subroutine test_precision()
    call trifuse_set_device(status, calculation, trifuse_device_cpu)
    call trifuse_set_precision(status, calculation, trifuse_precision_mixed)
    call trifuse_set_target_error(status, calculation, 1.0e-6_c_double)
    call expect(status%code == trifuse_success, "a target error")
    call trifuse_set_option(status, calculation, "tilesize", "24")
    call expect(index(trifuse_message(status), "the nearest name is tile_size") > 0, "a name that is no option")
    call trifuse_set_option(status, calculation, "target_error", "1e-6")
    call expect(status%code == trifuse_success, "an option by its name")
    call trifuse_run(status, calculation)
    call trifuse_get_error_bar(status, calculation, 1_c_int64_t, bracket_energy, paren_energy)
    call expect(status%code == trifuse_success .and. paren_energy >= 0 .and. paren_energy <= 1e-6_c_double, &
      & "an error bar")
    call trifuse_get_uncorrected_energy(status, calculation, 1_c_int64_t, bracket_energy, paren_energy)
    call expect(abs(paren_energy - expected) <= 1e-6_c_double * abs(expected), "the energy without correction")
    call trifuse_set_precision(status, calculation, trifuse_precision_double)
    call trifuse_set_check(status, calculation, .false.)
    lines = 0
    call trifuse_run(status, calculation)
    call expect(status%code == trifuse_success .and. lines(2) == 1, "a message that is a warning")
    call trifuse_delete_calculation(calculation)
  end subroutine test_precision

  !> Results of a run, and a run that the program cancels.
  subroutine test_results()
    call begin()
    call trifuse_add_array(arrays, "t1", t1, reversed=.true.)
    call trifuse_add_array(arrays, "t2", t2, reversed=.true.)
    call trifuse_add_array(arrays, "ovvv", packed, reversed=.true.)
    call trifuse_add_array(arrays, "ovoo", ovoo, reversed=.true.)
    call trifuse_add_array(arrays, "ovov", ovov, reversed=.true.)
    arrays%source = "my program"
    call trifuse_new_dense_amplitudes(status, amplitudes, arrays)
    call trifuse_new_calculation(status, calculation, amplitudes)
    call trifuse_delete_amplitudes(amplitudes)
    call trifuse_set_check(status, calculation, .false.)
    call trifuse_run(status, calculation)
    call expect(status%code == trifuse_success, "a run without a check")
    call trifuse_get_method(status, calculation, 1_c_int64_t, text)
    call expect(text == "CCSD(T)", "the name of the method")
    call trifuse_get_total_energy(status, calculation, 1_c_int64_t, energy)
    call expect(status%code == trifuse_success .and. energy /= energy, "an unknown total energy is NaN")
    call trifuse_get_report(status, calculation, text)
    call expect(index(text, '"program": "trifuse"') > 0 .and. index(text, "were not checked") > 0, "the report")
    function = c_funloc(cancel)
    call trifuse_set_progress(status, calculation, function, c_null_ptr)
    call trifuse_run(status, calculation)
    call expect(status%code == trifuse_cancelled, "a cancelled run")
    call trifuse_delete_calculation(calculation)
  end subroutine test_results

  !> Arrays that are not possible.
  subroutine test_refusals()
    call begin()
    call trifuse_add_array(arrays, "t1", wide(::2, :), reversed=.true.)
    call trifuse_new_dense_amplitudes(status, amplitudes, arrays)
    call expect(status%code == trifuse_bad_usage .and. index(trifuse_message(status), "'t1'") > 0, "an array with gaps")
    call begin()
    call trifuse_add_array(arrays, "t1", t1)
    call trifuse_new_dense_amplitudes(status, amplitudes, arrays)
    call expect(status%code == trifuse_bad_input .and. &
      & index(trifuse_message(status), "array 't1' has shape [2,5]") > 0, &
      & "the wrong order of indices")
    call begin()
    call trifuse_add_pointer(arrays, "t1", c_loc(t1), [5_c_int64_t, 2_c_int64_t], gpu=3000_c_int32_t)
    call trifuse_new_dense_amplitudes(status, amplitudes, arrays)
    call expect(status%code /= trifuse_success .and. index(trifuse_message(status), "GPU") > 0, &
      & "an array of no GPU: "// &
      & trifuse_message(status))
    call begin()
    call trifuse_add_pointer(arrays, "t1", c_loc(t1), [5_c_int64_t, 2_c_int64_t], [2_c_int64_t])
    call trifuse_new_dense_amplitudes(status, amplitudes, arrays)
    call expect(status%code == trifuse_bad_usage .and. index(trifuse_message(status), "'t1' has 0 axes") > 0, &
      & "too few strides")
    call begin()
    call trifuse_add_reader(arrays, "t1", [1_c_int64_t, 1_c_int64_t, 1_c_int64_t, 1_c_int64_t, 1_c_int64_t], function, &
      & c_null_ptr)
    call trifuse_new_dense_amplitudes(status, amplitudes, arrays)
    call expect(status%code == trifuse_bad_usage .and. index(trifuse_message(status), "'t1' has 0 axes") > 0, &
      & "too many axes")
    call begin()
    arrays%fock_in_triples = .true.
    arrays%no_fock_in_triples = .true.
    call trifuse_new_dense_amplitudes(status, amplitudes, arrays)
    call expect(status%code == trifuse_bad_usage .and. index(trifuse_message(status), "not stated") > 0, &
      & "f_ov t2 that enters and is left out")
    call begin()
    arrays%molecule = "water"//achar(0)//"dimer"
    call trifuse_new_dense_amplitudes(status, amplitudes, arrays)
    call expect(status%code == trifuse_bad_usage .and. index(trifuse_message(status), "molecule contains a null") == 1, &
      & "a text that C would cut")
    call begin()
    call trifuse_add_array(arrays, "t1"//achar(0)//"_a", t1, reversed=.true.)
    call trifuse_new_dense_amplitudes(status, amplitudes, arrays)
    call expect(status%code == trifuse_bad_usage .and. index(trifuse_message(status), "The name of an array contains") == 1, &
      & "a name that C would cut")
  end subroutine test_refusals

  !> An empty set of arrays, with the arrays that have one order only.
  subroutine begin()
    type(trifuse_arrays) :: empty
    arrays = empty
    arrays%reference = trifuse_rhf
    call trifuse_add_array(arrays, "eps_occ", eps_occ)
    call trifuse_add_array(arrays, "eps_vir", eps_vir)
    call trifuse_add_array(arrays, "fock", fock)
  end subroutine begin

  !> E(T) is homogeneous in ovvv and ovoo together: their derivatives times them are E[T] + E(T).
  subroutine test_derivatives()
    real(c_double) :: of_ovvv(v, v, v, o), of_ovoo(o, o, v, o), of_slice(v, v, v), omega2
    integer(c_int64_t), allocatable :: extents(:)
    integer(c_int64_t) :: count, n
    call begin()
    call trifuse_add_array(arrays, "t1", t1, reversed=.true.)
    call trifuse_add_array(arrays, "t2", t2, reversed=.true.)
    call trifuse_add_array(arrays, "ovvv", ovvv, reversed=.true.)
    call trifuse_add_array(arrays, "ovoo", ovoo, reversed=.true.)
    call trifuse_add_array(arrays, "ovov", ovov, reversed=.true.)
    call trifuse_new_dense_amplitudes(status, amplitudes, arrays)
    call trifuse_new_calculation(status, calculation, amplitudes)
    call trifuse_set_device(status, calculation, trifuse_device_cpu)
    call trifuse_set_option(status, calculation, "derivatives", "all")
    call trifuse_run(status, calculation)
    call expect(status%code == trifuse_success, "a run with derivatives: "//trifuse_message(status))
    call trifuse_derivative_count(status, calculation, count)
    do n = 1, count
      call trifuse_get_derivative(status, calculation, n, text, extents)
      if (text == "ovoo") call expect(all(extents == shape(ovoo)), "the extents of derivatives")
    end do
    call expect(count >= 8, "derivatives by all arrays")
    call trifuse_copy_derivative(status, calculation, "ovvv", size(ovvv, kind=c_int64_t), of_ovvv)
    call trifuse_copy_derivative(status, calculation, "ovoo", size(ovoo, kind=c_int64_t), of_ovoo)
    call trifuse_get_energy(status, calculation, 1_c_int64_t, omega2, bracket_energy, paren_energy)
    call expect(abs(sum(of_ovvv*ovvv) + sum(of_ovoo*ovoo) - bracket_energy - paren_energy) < 1e-12_c_double, &
      & "the sum of derivatives times integrals")
    do n = 1, o
      call trifuse_copy_derivative_slices(status, calculation, "ovvv", n, 1_c_int64_t, size(of_slice, kind=c_int64_t), &
        & of_slice)
      call expect(all(of_slice == of_ovvv(:, :, :, n)), "derivatives by integrals with one occupied orbital")
    end do
    call trifuse_copy_derivative_slices(status, calculation, "ovvv", int(o, c_int64_t), 2_c_int64_t, &
      & size(of_slice, kind=c_int64_t), of_slice)
    call expect(status%code == trifuse_bad_usage, "slices beyond the end")
    call expect(index(trifuse_message(status), "behind the first") > 0, trifuse_message(status))
    call trifuse_copy_derivative(status, calculation, "ovvv", 3_c_int64_t, of_ovvv)
    call expect(status%code == trifuse_bad_usage, "an array of the wrong size")
    call trifuse_delete_calculation(calculation)
    call trifuse_delete_amplitudes(amplitudes)
  end subroutine test_derivatives

  function energy_of(what) result(paren_energy)
    character(len=*), intent(in) :: what
    real(c_double) :: omega2, bracket_energy, paren_energy
    paren_energy = 0.0_c_double
    call trifuse_new_dense_amplitudes(status, amplitudes, arrays)
    call expect(status%code == trifuse_success, what//": "//trifuse_message(status))
    call trifuse_new_calculation(status, calculation, amplitudes)
    call trifuse_set_device(status, calculation, trifuse_device_cpu)
    call trifuse_run(status, calculation)
    call expect(status%code == trifuse_success, what//": "//trifuse_message(status))
    call trifuse_get_energy(status, calculation, 1_c_int64_t, omega2, bracket_energy, paren_energy)
    call trifuse_delete_calculation(calculation)
    call trifuse_delete_amplitudes(amplitudes)
  end function energy_of

  subroutine expect(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    print "(2a)", "FAILED: ", what
    failures = failures + 1
  end subroutine expect
end program arrays_test

!> Behaves like NWChem when it comes to its GPU code: MPI ranks, amplitudes and integrals of a reference dump in Global
!> Arrays, tile table and energies in MA and common blocks. Computes (T) once through the symbols of NWChem's GPU objects,
!> in its own task loop with a shared counter, and once through ccsd_t_gpu, and compares with the energies that NWChem
!> printed. Arguments: the folders of dumps. With STANDIN_INTEGRALS=file the integrals are said to be on files, which only
!> NWChem's CPU code can read.
module dumps
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    !> Starts and ends MPI, whose Fortran interface has other integers than this program.
    subroutine start_mpi() bind(c)
    end subroutine start_mpi
    subroutine end_mpi() bind(c)
    end subroutine end_mpi
    !> Removes from the environment what the routine follows, but not the symbols.
    subroutine forget_settings() bind(c)
    end subroutine forget_settings
    !> Opens the dump in a folder. counts: noa, nob, nva, nvb, orbitals, restricted, 2eorb, doubles of T1, T2, V2
    subroutine open_dump(folder, counts) bind(c)
      import
      character(kind=c_char), intent(in) :: folder(*)
      integer(c_int64_t), intent(out) :: counts(10)
    end subroutine open_dump
    subroutine dump_tiles(spin, irrep, length, spatial, energies) bind(c)
      import
      integer(c_int64_t), intent(out) :: spin(*), irrep(*), length(*), spatial(*)
      real(c_double), intent(out) :: energies(*)
    end subroutine dump_tiles
    !> Doubles of T1, T2 or V2 (1, 2, 3) as NWChem wrote them.
    subroutine dump_read(tensor, offset, number, values) bind(c)
      import
      integer(c_int64_t), value :: tensor, offset, number
      real(c_double), intent(out) :: values(number)
    end subroutine dump_read
    !> E[T] and E(T) that are known.
    subroutine dump_energies(energies) bind(c)
      import
      real(c_double), intent(out) :: energies(2)
    end subroutine dump_energies
    !> E[T] and E(T) of the tasks that `next` gives to this rank, through the symbols, from the arrays with these handles.
    subroutine symbols_energies(handles, get, next, energies) bind(c)
      import
      integer(c_int64_t), intent(in) :: handles(3)
      type(c_funptr), value :: get, next
      real(c_double), intent(out) :: energies(2)
    end subroutine symbols_energies
  end interface
end module dumps

module tasks
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: g_counter
  integer :: runs_of_cpu_code = 0
contains
  !> As NWChem's nxtask.
  function next_task() bind(c) result(number)
    integer(c_int64_t) :: number
#include "global.fh"
    integer :: place(1)
    place = 1
    number = nga_read_inc(g_counter, place, 1)
  end function next_task
end module tasks

program standin
  use dumps
  use tasks
  use trifuse_nwchem, only: trifuse_get, trifuse_fetch_add
  implicit none
#include "global.fh"
#include "mafdecls.fh"
#include "tce.fh"
#include "tce_main.fh"
#include "tce_hetio.fh"
  integer(c_int64_t) :: counts(10)
  integer(c_int64_t), target :: counter_handle
  integer :: argument, failures, handles(3), place(1), chunk(1), device, first_table
  integer, external :: check_device
  double precision :: expected(2), symbols(2), routine(2)
  character(len=500) :: folder

  call start_mpi()
  call ga_initialize()
  if (.not. ma_init(mt_dbl, 1000000, 1000000)) call ga_error("ma_init", 1)
  failures = 0
  first_table = 0
  do argument = 1, command_argument_count()
    call get_command_argument(argument, folder)
    call open_dump(trim(folder)//c_null_char, counts)
    call fill_common_blocks()
    handles = [in_array(1, counts(8)), in_array(2, counts(9)), in_array(3, counts(10))]
    call dump_energies(expected)

    ! NWChem's tables of blocks are in its arguments; nobody reads them here.
    call ccsd_t_gpu(handles(1), 0, handles(2), 0, handles(3), 0, routine(1), routine(2), int(counts(8)), ga_nnodes())

    place = 1
    chunk = -1
    if (.not. nga_create(mt_int, 1, place, "nxtask", chunk, g_counter)) call ga_error("nxtask", 1)
    call ga_zero(g_counter)
    call ga_sync()
    counter_handle = g_counter
    call forget_settings()
    ! One GPU for each rank of the node; the environment puts cores in their place.
    if (check_device(ga_nnodes()) /= 1) call ga_error("check_device", 1)
    call device_init(ga_nnodes(), device)
    call symbols_energies(int(handles, c_int64_t), c_funloc(trifuse_get), c_funloc(next_task), symbols)
    call ga_dgop(1975, symbols, 2, "+")
    call check_large_counts()

    if (runs_of_cpu_code /= merge(argument, 0, io_v2 /= IOGA)) call ga_error("runs of the CPU code", runs_of_cpu_code)
    if (any(abs(symbols - expected) > 1d-10) .or. any(abs(routine - expected) > 1d-10)) failures = failures + 1
    if (ga_nodeid() == 0) then
      print '(a)', trim(folder(index(folder, "/", back=.true.) + 1:))
      print '(a,2f20.15)', "  expected ", expected, "  symbols  ", symbols, "  routine  ", routine
    end if
    call free_all()
  end do
  if (failures /= 0) call ga_error("energies differ", failures)
  if (ga_nodeid() == 0 .and. command_argument_count() > 0) print '(a)', "All energies are right."
  call ga_terminate()
  call end_mpi()

contains

  !> A piece of MA memory for integers.
  integer function room(number, ma_type)
    integer, intent(in) :: number, ma_type
    integer :: handle
    if (.not. ma_push_get(ma_type, number, "table", handle, room)) call ga_error("MA", number)
    if (first_table == 0) first_table = handle
  end function room

  subroutine fill_common_blocks()
    integer :: tiles, orbitals, length
    noa = int(counts(1)); nob = int(counts(2)); nva = int(counts(3)); nvb = int(counts(4))
    noab = noa + nob
    nvab = nva + nvb
    tiles = noab + nvab
    orbitals = int(counts(5))
    restricted = counts(6) /= 0
    intorb = counts(7) /= 0
    ioalg = 2
    call get_environment_variable("STANDIN_INTEGRALS", length=length)
    io_v2 = merge(IOGA, IOGA + 1, length == 0)
    k_spin = room(tiles, mt_int)
    k_sym = room(tiles, mt_int)
    k_range = room(tiles, mt_int)
    k_b2am = room(tiles, mt_int)
    k_evl_sorted = room(orbitals, mt_dbl)
    call dump_tiles(int_mb(k_spin), int_mb(k_sym), int_mb(k_range), int_mb(k_b2am), dbl_mb(k_evl_sorted))
  end subroutine fill_common_blocks

  !> A tensor in an array of NWChem's shape: one column. Every rank writes its share.
  integer function in_array(tensor, doubles)
    integer, intent(in) :: tensor
    integer(c_int64_t), intent(in) :: doubles
    integer :: first, last
    double precision, allocatable :: values(:)
    if (.not. ga_create(mt_dbl, max(1, int(doubles)), 1, "tensor", -1, 1, in_array)) call ga_error("ga_create", tensor)
    first = int(doubles) * ga_nodeid() / ga_nnodes() + 1
    last = int(doubles) * (ga_nodeid() + 1) / ga_nnodes()
    if (last >= first) then
      allocate (values(last - first + 1))
      call dump_read(int(tensor, c_int64_t), int(first - 1, c_int64_t), int(last - first + 1, c_int64_t), values)
      call ga_put(in_array, first, last, 1, 1, values, last - first + 1)
    end if
    call ga_sync()
  end function in_array

  !> The library's counter has two halves; amounts that go to the upper one must not be cut.
  subroutine check_large_counts()
    integer :: n, before
    call ga_sync()
    call ga_zero(g_counter)
    call ga_sync()
    do n = 1, 200
      before = int(trifuse_fetch_add(c_loc(counter_handle), 0_c_int64_t, 2_c_int64_t**24))
    end do
    call ga_sync()
    before = int(trifuse_fetch_add(c_loc(counter_handle), 0_c_int64_t, 0_c_int64_t))
    if (before /= 200 * ga_nnodes() * 2**24) call ga_error("large counts", before)
  end subroutine check_large_counts

  subroutine free_all()
    integer :: tensor
    do tensor = 1, 3
      if (.not. ga_destroy(handles(tensor))) call ga_error("ga_destroy", tensor)
    end do
    if (.not. ga_destroy(g_counter)) call ga_error("ga_destroy", 4)
    if (.not. ma_chop_stack(first_table)) call ga_error("MA", 5)
    first_table = 0
  end subroutine free_all

end program standin

!> NWChem's CPU code: gives the energies that NWChem printed.
subroutine ccsd_t(d_t1, k_t1_offset, d_t2, k_t2_offset, d_v2, k_v2_offset, energy1, energy2, size_t1)
  use dumps
  use tasks, only: runs_of_cpu_code
  implicit none
  integer, intent(in) :: d_t1, k_t1_offset, d_t2, k_t2_offset, d_v2, k_v2_offset, size_t1
  double precision, intent(out) :: energy1, energy2
  double precision :: energies(2)
  if (any([d_t1, d_t2, d_v2] == 0) .or. any([k_t1_offset, k_t2_offset, k_v2_offset] /= 0) .or. size_t1 < 1) &
    call ga_error("arguments of ccsd_t", size_t1)
  call dump_energies(energies)
  energy1 = energies(1)
  energy2 = energies(2)
  runs_of_cpu_code = runs_of_cpu_code + 1
end subroutine ccsd_t

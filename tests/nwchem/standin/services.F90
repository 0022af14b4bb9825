!> The services of NWChem that ccsd_t_gpu.F and the symbols call, in a program that is not NWChem.

!> NWChem's way out: says why, and ends all ranks.
subroutine errquit(text, number, error)
  implicit none
  character(len=*), intent(in) :: text
  integer, intent(in) :: number, error
#include "global.fh"
  print '(a,i0,2a)', "errquit of rank ", ga_nodeid(), ": ", text
  flush (6)
  call ga_error("errquit", 1000 * number + error)
end subroutine errquit

subroutine util_flush(unit)
  implicit none
  integer, intent(in) :: unit
  flush (unit)
end subroutine util_flush

!> Number of a rank on its node: there is one node.
function my_smp_index() bind(c, name="util_my_smp_index") result(number)
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none
  integer(c_int) :: number
#include "global.fh"
  number = int(ga_nodeid(), c_int)
end function my_smp_index

!> The database holds `set trifuse:omega2 0.0 0.2`, `set trifuse:tile_size 7` and `set trifuse:form spin-orbital`.
integer function bgj_get_rtdb_handle()
  implicit none
  bgj_get_rtdb_handle = 77
end function bgj_get_rtdb_handle

logical function rtdb_get_info(handle, name, ma_type, number, date)
  implicit none
  integer, intent(in) :: handle
  character(len=*), intent(in) :: name
  integer, intent(out) :: ma_type, number
  character(len=26), intent(out) :: date
#include "mafdecls.fh"
  if (handle /= 77) error stop "handle of the database"
  date = "today"
  rtdb_get_info = .true.
  number = 1
  select case (name)
  case ("trifuse:omega2"); ma_type = mt_dbl; number = 2
  case ("trifuse:tile_size"); ma_type = mt_int
  case ("trifuse:form"); ma_type = 1000  ! characters are of C's type
  case default; rtdb_get_info = .false.
  end select
end function rtdb_get_info

logical function rtdb_get(handle, name, ma_type, number, values)
  use, intrinsic :: iso_c_binding, only: c_int64_t, c_double
  implicit none
  integer, intent(in) :: handle, ma_type, number
  character(len=*), intent(in) :: name
  integer(c_int64_t), intent(out) :: values(number)
#include "mafdecls.fh"
  if (handle /= 77) error stop "handle of the database"
  rtdb_get = .true.
  select case (name)
  case ("trifuse:omega2")
    if (ma_type /= mt_dbl .or. number /= 2) error stop "type of omega2"
    values = transfer([0.0_c_double, 0.2_c_double], values)
  case ("trifuse:tile_size")
    if (ma_type /= mt_int .or. number /= 1) error stop "type of tile_size"
    values = 7
  case default; rtdb_get = .false.
  end select
end function rtdb_get

logical function rtdb_cget(handle, name, number, text)
  implicit none
  integer, intent(in) :: handle, number
  character(len=*), intent(in) :: name
  character(len=*), intent(out) :: text
  if (handle /= 77 .or. number /= 1) error stop "handle of the database"
  rtdb_cget = name == "trifuse:form"
  text = "spin-orbital"
end function rtdb_cget

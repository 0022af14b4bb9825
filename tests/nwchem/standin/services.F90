!> NWChem's run-time database, as the directive `set` fills it.
module database
  implicit none
  type entry_of_database
    character(len=:), allocatable :: name, values
    integer :: ma_type, number
  end type entry_of_database
  type(entry_of_database), allocatable :: entries(:)
  integer :: place = 0
contains
  subroutine clear_database()
    if (allocated(entries)) deallocate (entries)
    allocate (entries(0))
  end subroutine clear_database

  !> Adds an entry. line: name, type and number of values, then the values with blanks between them.
  subroutine set_entry(line)
    character(len=*), intent(in) :: line
    type(entry_of_database) :: new
    character(len=256) :: name, kind
    integer :: at, n
#include "mafdecls.fh"
    read (line, *) name, kind, new%number
    select case (kind)
    case ("real"); new%ma_type = mt_dbl
    case ("integer"); new%ma_type = mt_int
    case ("logical"); new%ma_type = mt_log
    case ("string"); new%ma_type = 1000  ! characters are of C's type
    case default; error stop "type of an entry"
    end select
    new%name = trim(name)
    at = 0
    do n = 1, 3  ! behind the third word
      at = at + verify(line(at + 1:), " ")
      at = at + index(line(at:)//" ", " ") - 1
    end do
    new%values = line(at:)
    entries = [entries, new]
  end subroutine set_entry

  !> Position of an entry; 0 if there is none.
  integer function position(handle, name)
    integer, intent(in) :: handle
    character(len=*), intent(in) :: name
    integer :: n
    if (handle /= 77) error stop "handle of the database"
    position = 0
    do n = 1, size(entries)
      if (entries(n)%name == name) position = n
    end do
  end function position
end module database

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

!> STANDIN_SET has the entries of the database, with semicolons between them. Without it, the database holds `set
!> trifuse:omega2 0.0 0.2`, `set trifuse:tile_size 7` and `set trifuse:form spin-orbital`, and entries of NWChem.
integer function bgj_get_rtdb_handle()
  use database
  implicit none
  character(len=5000) :: set
  integer :: length, first, last
  bgj_get_rtdb_handle = 77
  if (allocated(entries)) return
  call clear_database()
  call get_environment_variable("STANDIN_SET", set, length)
  if (length == 0) set = "tce:thresh real 1 1d-8;trifuse:omega2 real 2 0.0 0.2;trifuse:tile_size integer 1 7;"// &
    "title string 1 water;trifuse:form string 1 spin-orbital;tce:ioalg integer 1 2"
  first = 1
  do while (first <= len_trim(set))
    last = first + index(trim(set(first:))//";", ";") - 2
    call set_entry(set(first:last))
    first = last + 2
  end do
end function bgj_get_rtdb_handle

logical function rtdb_first(handle, name)
  use database
  implicit none
  integer, intent(in) :: handle
  character(len=*), intent(out) :: name
  logical, external :: rtdb_next
  place = 0
  rtdb_first = rtdb_next(handle, name)
end function rtdb_first

logical function rtdb_next(handle, name)
  use database
  implicit none
  integer, intent(in) :: handle
  character(len=*), intent(out) :: name
  if (handle /= 77) error stop "handle of the database"
  place = place + 1
  rtdb_next = place <= size(entries)
  if (rtdb_next) name = entries(place)%name
end function rtdb_next

logical function rtdb_get_info(handle, name, ma_type, number, date)
  use database
  implicit none
  integer, intent(in) :: handle
  character(len=*), intent(in) :: name
  integer, intent(out) :: ma_type, number
  character(len=26), intent(out) :: date
  integer :: n
  n = position(handle, name)
  rtdb_get_info = n > 0
  if (n == 0) return
  date = "today"
  ma_type = entries(n)%ma_type
  number = entries(n)%number
  place = 0  ! as a database whose place moves
end function rtdb_get_info

logical function rtdb_get(handle, name, ma_type, number, values)
  use, intrinsic :: iso_c_binding, only: c_int64_t, c_double
  use database
  implicit none
  integer, intent(in) :: handle, ma_type, number
  character(len=*), intent(in) :: name
  integer(c_int64_t), intent(out) :: values(number)
#include "mafdecls.fh"
  integer :: n
  real(c_double), allocatable :: broken(:)
  logical, allocatable :: switch(:)
  n = position(handle, name)
  rtdb_get = n > 0
  if (n == 0) return
  if (ma_type /= entries(n)%ma_type .or. number < entries(n)%number) error stop "type or number of values"
  allocate (broken(number), switch(number))
  if (ma_type == mt_dbl) then
    read (entries(n)%values, *) broken
    values = transfer(broken, values)
  else if (ma_type == mt_int) then
    read (entries(n)%values, *) values
  else
    read (entries(n)%values, *) switch
    values = merge(1_c_int64_t, 0_c_int64_t, switch)
  end if
end function rtdb_get

logical function rtdb_cget(handle, name, number, words)
  use database
  implicit none
  integer, intent(in) :: handle, number
  character(len=*), intent(in) :: name
  character(len=*), intent(out) :: words(number)
  character(len=256), allocatable :: found(:)
  integer :: n
  n = position(handle, name)
  rtdb_cget = .false.
  if (n == 0) return
  allocate (found(entries(n)%number))
  read (entries(n)%values, *) found
  ! Like NWChem's function, it writes only as many words as there are, and none that does not fit.
  if (size(found) > number .or. maxval(len_trim(found)) > len(words)) return
  words(:size(found)) = found
  rtdb_cget = .true.
end function rtdb_cget

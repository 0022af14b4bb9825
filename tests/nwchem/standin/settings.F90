!> Compares the settings that ccsd_t_gpu.F reads from NWChem's run-time database with what `set` has written into it.
program settings
  use database
  use trifuse_nwchem, only: settings_of_input
  implicit none
  character(len=*), parameter :: end_of_line = achar(10)
  character(len=250) :: long
  integer :: failures = 0

  call compare("no entry of Trifuse", [character(len=300) :: "tce:thresh real 1 1d-8", "title string 1 trifus"], "")
  call compare("eleven real numbers", &
    ["trifuse:omega2 real 11 0.0 0.01 0.02 0.03 0.04 0.05 0.06 0.07 0.08 0.09 0.1"], &
    "omega2=0.0000000000000000E+000,1.0000000000000000E-002,2.0000000000000000E-002,2.9999999999999999E-002,"// &
    "4.0000000000000001E-002,5.0000000000000003E-002,5.9999999999999998E-002,7.0000000000000007E-002,"// &
    "8.0000000000000002E-002,8.9999999999999997E-002,1.0000000000000001E-001"//end_of_line)
  call compare("several integers", ["trifuse:omega2 integer 2 1 2"], "omega2=1,2"//end_of_line)
  call compare("switches", ["trifuse:precision logical 3 .true. F T"], "precision=true,false,true"//end_of_line)
  call compare("several words", ["trifuse:memory string 2 20 GiB"], "memory=20,GiB"//end_of_line)
  long = repeat("x", len(long))
  call compare("a long word", ["trifuse:form string 1 "//long], "form="//long//end_of_line)
  call compare("other names", [character(len=300) :: "trifuse:tilesize integer 1 4", "TRIFUSE:omega2 real 1 0.5", &
    "trifuse_form string 1 auto", "my:trifuse integer 1 1", "trifuse:device string 1 cpu"], &
    "tilesize=4"//end_of_line//"TRIFUSE:omega2=5.0000000000000000E-001"//end_of_line//"trifuse_form=auto"// &
    end_of_line//"device=cpu"//end_of_line)
  if (failures /= 0) error stop "settings differ"

contains

  subroutine compare(what, lines, wanted)
    character(len=*), intent(in) :: what, lines(:), wanted
    character(len=:), allocatable :: found
    integer :: n
    call clear_database()
    do n = 1, size(lines)
      call set_entry(trim(lines(n)))
    end do
    found = settings_of_input()
    if (found == wanted .and. len(found) == len(wanted)) return
    print '(5a)', what, ": expected", end_of_line//wanted, "found", end_of_line//found
    failures = failures + 1
  end subroutine compare
end program settings

!> ccsd_t_gpu.F calls it. Nothing here does.
subroutine ccsd_t()
  error stop "NWChem's CPU code"
end subroutine ccsd_t

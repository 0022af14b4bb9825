!> A run by several processes of an MPI job, see trifuse_mpi.h. Link the library trifuse_mpi.
module trifuse_mpi
  use, intrinsic :: iso_c_binding, only: c_int32_t, c_int64_t, c_ptr
  use trifuse_c
  implicit none
  private

  public :: trifuse_set_communicator

  !> Sets the processes that compute together; trifuse_run is then collective. `communicator`: the integer of `use mpi`,
  !> or the component MPI_VAL of `use mpi_f08`.
  interface trifuse_set_communicator
    module procedure set_int32, set_int64
  end interface trifuse_set_communicator

  interface
    subroutine c_set_communicator(status, calculation, communicator) bind(c, name="trifuse_set_communicator")
      import :: trifuse_status, c_ptr, c_int32_t
      type(trifuse_status), intent(inout) :: status
      type(c_ptr), value :: calculation
      integer(c_int32_t), value :: communicator
    end subroutine c_set_communicator
  end interface

contains

  subroutine set_int32(status, calculation, communicator)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int32_t), intent(in) :: communicator
    call c_set_communicator(status, calculation%handle, communicator)
  end subroutine set_int32

  !> For programs with 8-byte default integers. MPI's handles have 4 bytes in C.
  subroutine set_int64(status, calculation, communicator)
    type(trifuse_status), intent(inout) :: status
    type(trifuse_calculation), intent(in) :: calculation
    integer(c_int64_t), intent(in) :: communicator
    call c_set_communicator(status, calculation%handle, int(communicator, c_int32_t))
  end subroutine set_int64

end module trifuse_mpi

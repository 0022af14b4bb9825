#pragma once

namespace trifuse::cli {

/// Makes Open MPI choose one-sided communication (windows) that works and is fast, on one host and between hosts.
/// Changes neither other MPI libraries nor a choice of the user in OMPI_MCA_osc. The object must exist when MPI is
/// initialised, and must be destroyed before MPI is finalised.
class OpenMpiSettings {
 public:
  OpenMpiSettings();
  ~OpenMpiSettings();
  OpenMpiSettings(const OpenMpiSettings&) = delete;
  OpenMpiSettings& operator=(const OpenMpiSettings&) = delete;

 private:
  /// True if the tool interface of MPI was begun. When it ends, it forgets its settings unless MPI has begun.
  bool begun_ = false;
};

}

#pragma once

namespace trifuse::cli {

/// Lets Open MPI choose windows that work, and work fast, on one host and between hosts; other MPI libraries are left
/// as they are, and so is what the user says with OMPI_MCA_osc. To be there while MPI begins, and gone before it ends.
class OpenMpiSettings {
 public:
  OpenMpiSettings();
  ~OpenMpiSettings();
  OpenMpiSettings(const OpenMpiSettings&) = delete;
  OpenMpiSettings& operator=(const OpenMpiSettings&) = delete;

 private:
  bool begun_ = false;  ///< the interface for tools, which forgets settings at its end unless MPI has begun
};

}  // namespace trifuse::cli

#pragma once

#include <unistd.h>

#include <stdexcept>

namespace trifuse::testing {

/// Drops the privileges of root until the destructor runs, because root may read all files.
class Unprivileged {
 public:
  Unprivileged() : user_(::geteuid()) {
    constexpr uid_t nobody = 65534;
    if (user_ == 0 && ::seteuid(nobody) != 0) throw std::runtime_error("the superuser cannot become nobody");
  }
  ~Unprivileged() {
    if (user_ == 0) static_cast<void>(::seteuid(user_));
  }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;

 private:
  uid_t user_;
};

}

#pragma once

#include <string>

namespace trifuse {

/// Returns a number of floating-point operations for people, e.g. "512 F", "12.5 GF" or "3.76 TF". With "/s" behind it,
/// it is a rate.
std::string format_operations(double operations);

}

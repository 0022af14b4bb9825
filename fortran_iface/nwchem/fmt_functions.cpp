#include <fmt/format-inl.h>

// The functions of the library fmt that the objects of libtrifuse_nwchem.so call. Few systems have fmt as a static
// library. If a version of fmt needs more functions, the linker takes them from the shared library.
FMT_BEGIN_NAMESPACE
namespace detail {

template FMT_API auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl<char>(locale_ref) -> char;

}
FMT_END_NAMESPACE

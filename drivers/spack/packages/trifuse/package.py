"""Recipe for Spack, which builds the clone that contains it:

    spack repo add drivers/spack
    spack install trifuse +cuda cuda_arch=90

A recipe in Spack's own repository would name the public address of the project and the
accounts of its maintainers.
"""

import os

from spack.package import *

try:  # Spack 1 keeps its build systems with its packages
    from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
    from spack_repo.builtin.build_systems.cuda import CudaPackage
except ImportError:
    pass


class Trifuse(CMakePackage, CudaPackage):
    """Trifuse computes the triples correction of coupled-cluster theory, (T), from converged
    CCSD amplitudes, on GPUs and cores."""

    clone = os.path.abspath(os.path.join(os.path.dirname(__file__), *[".."] * 4))
    homepage = "file://" + os.path.join(clone, "README.md")
    git = "file://" + clone

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("mpi", default=True, description="Several processes: mpirun trifuse run")
    variant(
        "globalarrays",
        default=False,
        when="+mpi",
        description="Processes share operands in Global Arrays, not in windows of MPI",
    )
    variant("fortran", default=True, description="Fortran modules")
    variant("shared", default=True, description="Shared library")

    generator("ninja")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")

    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cli11@2:", type="build")
    depends_on("nlohmann-json@3.9:", type="build")
    depends_on("xxhash@0.8:", type="build")
    depends_on("googletest@1.12:", type="test")
    depends_on("python@3.9:", type="test")

    depends_on("blas")
    depends_on("lapack")
    depends_on("hdf5@1.10:")
    depends_on("hdf5~mpi", when="~mpi")
    depends_on("fmt@8:")
    depends_on("zlib-api")
    depends_on("mpi@3:", when="+mpi")
    depends_on("globalarrays@5.8:", when="+globalarrays")
    depends_on("cuda@12:", when="+cuda")

    for library in (
        "amdblis",
        "armpl-gcc",
        "blis",
        "intel-oneapi-mkl",
        "nvpl-blas",
        "openblas",
    ):
        conflicts(f"^{library}+ilp64", msg="Trifuse needs a BLAS with 32-bit integers (LP64)")
    conflicts("%gcc@:11", msg="Trifuse is C++20 and needs GCC 12 or newer")
    conflicts("%clang@:14", msg="Trifuse is C++20 and needs Clang 15 or newer")
    conflicts(
        "cuda_arch=none",
        when="+cuda",
        msg="Name the GPUs: cuda_arch=90 for H100 and H200, 80 for A100",
    )

    def cmake_args(self):
        def switch(feature, wanted):
            return self.define(f"TRIFUSE_ENABLE_{feature}", "ON" if wanted else "OFF")

        arguments = [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define("BLAS_LIBRARIES", self.spec["blas:c"].libs.joined(";")),
            self.define("LAPACK_LIBRARIES", self.spec["lapack"].libs.joined(";")),
            switch("CUDA", self.spec.satisfies("+cuda")),
            switch("MPI", self.spec.satisfies("+mpi")),
            switch("GLOBAL_ARRAYS", self.spec.satisfies("+globalarrays")),
            switch("FORTRAN", self.spec.satisfies("+fortran")),
            switch("TESTS", self.run_tests),
            switch("BENCHMARKS", False),
        ]
        if self.spec.satisfies("+cuda"):
            architectures = [f"{arch}-real" for arch in self.spec.variants["cuda_arch"].value]
            arguments.append(self.define("CMAKE_CUDA_ARCHITECTURES", architectures))
        return arguments

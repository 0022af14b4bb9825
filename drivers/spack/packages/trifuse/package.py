"""Recipe for Spack, which builds the clone that it stands in:

spack repo add drivers/spack
spack install trifuse +cuda cuda_arch=90
"""

import os

from spack.package import *

try:  # Spack 1 keeps its build systems with its packages
    from spack_repo.builtin.build_systems.cmake import CMakePackage
    from spack_repo.builtin.build_systems.cuda import CudaPackage
except ImportError:
    pass


class Trifuse(CMakePackage, CudaPackage):
    """The triples correction of coupled-cluster theory, (T), from converged CCSD amplitudes, on GPUs and cores."""

    git = "file://" + os.path.abspath(os.path.join(os.path.dirname(__file__), *[".."] * 4))

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("mpi", default=True, description="Several processes: mpirun trifuse run")
    variant("globalarrays", default=False, description="Processes share operands in Global Arrays")
    variant("fortran", default=True, description="Fortran module trifuse")

    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cli11", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("googletest", type="test")

    depends_on("openblas@0.3.20:")
    depends_on("hdf5@1.10:~mpi")
    depends_on("fmt@8:")
    depends_on("xxhash")
    depends_on("zlib-api")
    depends_on("mpi@3:", when="+mpi")
    depends_on("globalarrays@5.8:", when="+globalarrays")
    depends_on("cuda@12:", when="+cuda")

    conflicts("+globalarrays", when="~mpi")
    # C++20
    conflicts("%gcc@:10")
    conflicts("cuda_arch=none", when="+cuda", msg="Name the GPUs: cuda_arch=90 for H100 and H200, 80 for A100")

    generator("ninja")

    def cmake_args(self):
        def switch(feature, variant):
            return self.define(f"TRIFUSE_ENABLE_{feature}", "ON" if self.spec.satisfies(variant) else "OFF")

        arguments = [
            switch("CUDA", "+cuda"),
            switch("MPI", "+mpi"),
            switch("GLOBAL_ARRAYS", "+globalarrays"),
            switch("FORTRAN", "+fortran"),
            self.define("TRIFUSE_ENABLE_TESTS", "ON" if self.run_tests else "OFF"),
            self.define("TRIFUSE_ENABLE_BENCHMARKS", "OFF"),
        ]
        if self.spec.satisfies("+cuda"):
            architectures = [f"{arch}-real" for arch in self.spec.variants["cuda_arch"].value]
            arguments.append(self.define("CMAKE_CUDA_ARCHITECTURES", architectures))
        return arguments

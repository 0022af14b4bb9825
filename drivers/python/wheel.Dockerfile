# The image in which cibuildwheel makes the wheel of a release: Debian, as for drivers/python/wheel.sh, with CUDA and one Python in the place
# where cibuildwheel expects it.
#
#   docker build -f drivers/python/wheel.Dockerfile -t trifuse-wheel .
FROM debian:12
ARG CUDA=12-8
ADD https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/cuda-keyring_1.1-1_all.deb /tmp/cuda-keyring.deb
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates dpkg-dev git python3 python3-venv unzip /tmp/cuda-keyring.deb \
 && apt-get update \
 && apt-get install -y --no-install-recommends "cuda-minimal-build-$CUDA" "cuda-nvtx-$CUDA" \
 && rm -rf /var/lib/apt/lists/* /tmp/cuda-keyring.deb
COPY drivers/setup.sh /source/drivers/setup.sh
COPY drivers/python/wheel_needs.sh /source/drivers/python/wheel_needs.sh
RUN bash /source/drivers/python/wheel_needs.sh /opt/hdf5
# cibuildwheel asks the first of these for the environment, and builds with the second one.
RUN python3 -m venv /opt/python/cp311-cp311 \
 && ln -s cp311-cp311 /opt/python/cp39-cp39 \
 && /opt/python/cp311-cp311/bin/pip install --quiet --upgrade pip
ENV PATH=/usr/local/cuda/bin:$PATH

"""GPU kernels: a formula of `model/` once more, faster. A law test holds each equal to the written-out one."""

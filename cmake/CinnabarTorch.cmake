# libtorch: the folder that CINNABAR_TORCH names, else .deps/torch (set-up's link to the chosen build; the link, so that another
# build of the same version needs no recompilation), else the newest one under .deps/.
# Only ATen, c10 and autograd are used, never a vendor header: the same program runs with the CPU, ROCm and CUDA builds.
if(DEFINED ENV{CINNABAR_TORCH} AND NOT CINNABAR_TORCH)
  set(CINNABAR_TORCH $ENV{CINNABAR_TORCH})
endif()
if(NOT CINNABAR_TORCH AND EXISTS ${CMAKE_SOURCE_DIR}/.deps/torch/lib)
  set(CINNABAR_TORCH ${CMAKE_SOURCE_DIR}/.deps/torch)
endif()
if(NOT CINNABAR_TORCH)
  file(GLOB found ${CMAKE_SOURCE_DIR}/.deps/libtorch-*)
  list(SORT found COMPARE NATURAL ORDER DESCENDING)
  list(LENGTH found count)
  if(count EQUAL 0)
    message(FATAL_ERROR "libtorch not found: run './cinnabar setup', or name a libtorch folder in CINNABAR_TORCH")
  endif()
  list(GET found 0 CINNABAR_TORCH)
endif()
set(CINNABAR_TORCH ${CINNABAR_TORCH} CACHE PATH "libtorch folder (lib/ and include/)" FORCE)
message(STATUS "libtorch: ${CINNABAR_TORCH}")

add_library(cinnabar_torch INTERFACE)
target_include_directories(cinnabar_torch SYSTEM INTERFACE ${CINNABAR_TORCH}/include
                           ${CINNABAR_TORCH}/include/torch/csrc/api/include)
# libtorch.so itself is empty in the CPU build; in GPU builds it is what pulls the GPU kernels in.
target_link_libraries(cinnabar_torch INTERFACE -Wl,--no-as-needed ${CINNABAR_TORCH}/lib/libtorch.so -Wl,--as-needed
                      ${CINNABAR_TORCH}/lib/libtorch_cpu.so ${CINNABAR_TORCH}/lib/libc10.so)

add_library(cinnabar_pch OBJECT ${CMAKE_SOURCE_DIR}/src/cinnabar/tensor/pch.cpp)
target_link_libraries(cinnabar_pch PUBLIC cinnabar_flags cinnabar_torch)
target_precompile_headers(cinnabar_pch PRIVATE ${CMAKE_SOURCE_DIR}/src/cinnabar/tensor/pch.h)

# Heavy compiles: about 1.5 GB each, so no more of them at once than memory allows.
cmake_host_system_information(RESULT free_mib QUERY AVAILABLE_PHYSICAL_MEMORY)
math(EXPR jobs "${free_mib} / 1536")
if(jobs LESS 1)
  set(jobs 1)
endif()
set_property(GLOBAL APPEND PROPERTY JOB_POOLS torch=${jobs})

function(cinnabar_use_torch target)
  target_link_libraries(${target} PUBLIC cinnabar_torch)
  target_precompile_headers(${target} REUSE_FROM cinnabar_pch)
  set_target_properties(${target} PROPERTIES JOB_POOL_COMPILE torch)
endfunction()

#include "cinnabar/worker/translate_error.h"

#include <c10/util/Exception.h>
#include <doctest/doctest.h>

#include <sys/resource.h>

#include <new>
#include <stdexcept>
#include <system_error>

namespace cinnabar::worker {

namespace {

template <class Exception>
base::Error translated(const Exception& exception) {
  try {
    throw exception;
  } catch (...) {
    return translate_current_exception();
  }
}

c10::Error torch_error(const std::string& text) { return c10::Error(c10::SourceLocation{"f", "file.cpp", 1}, text); }

TEST_CASE("our_errors_pass_unchanged") {
  const base::Error error = translated(base::Error(base::ErrorCode::Data, "no pictures", "folder"));
  CHECK(error.code() == base::ErrorCode::Data);
  CHECK(error.message() == "no pictures");
  CHECK(error.context() == "folder");
}

TEST_CASE("lack_of_memory_says_what_needs_less") {
  for (const char* text :
       {"HIP out of memory. Tried to allocate 2.00 GiB", "DefaultCPUAllocator: not enough memory: you tried",
        "DefaultCPUAllocator: can't allocate memory: you tried"}) {
    const base::Error error = translated(torch_error(text));
    CHECK(error.code() == base::ErrorCode::OutOfMemory);
    CHECK(error.message().find("--gradient_checkpointing") != std::string::npos);
  }
  CHECK(translated(std::bad_alloc()).code() == base::ErrorCode::OutOfMemory);
}

TEST_CASE("threads_that_cannot_be_started_are_no_bug") {
  const base::Error error =
      translated(std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again)));
  CHECK(error.code() == base::ErrorCode::OutOfMemory);
  CHECK(error.message().find("no further thread could be started") != std::string::npos);
  CHECK(error.message().find("bug") == std::string::npos);
}

TEST_CASE("lack_of_memory_under_a_limit_names_the_limit") {
  rlimit before{};
  ::getrlimit(RLIMIT_AS, &before);
  rlimit limited = before;
  limited.rlim_cur = rlim_t{1} << 46;
  REQUIRE(::setrlimit(RLIMIT_AS, &limited) == 0);
  const base::Error none = translated(std::bad_alloc());
  const base::Error primitive = translated(std::runtime_error("could not create a primitive"));
  ::setrlimit(RLIMIT_AS, &before);
  for (const base::Error& error : {none, primitive}) {
    CHECK(error.code() == base::ErrorCode::OutOfMemory);
    CHECK(error.message().find("ulimit -v") != std::string::npos);
  }
  CHECK(translated(std::runtime_error("could not create a primitive")).code() == base::ErrorCode::Internal);
}

TEST_CASE("device_faults_end_with_the_status_of_devices") {
  const base::Error error = translated(torch_error("HIP error: unspecified launch failure"));
  CHECK(error.code() == base::ErrorCode::Device);
  CHECK(base::exit_status(error.code()) == 70);
}

TEST_CASE("known_failures_come_with_cause_and_remedy") {
  const base::Error kernels = translated(torch_error("HIP error: invalid device function\nHIP kernel errors might be"));
  CHECK(kernels.code() == base::ErrorCode::Device);
  CHECK(kernels.message().find("no kernels for this GPU's chip") != std::string::npos);
  CHECK(kernels.message().find("cinnabar doctor") != std::string::npos);
  const base::Error convolution = translated(torch_error("miopenStatusUnknownError"));
  CHECK(convolution.code() == base::ErrorCode::Device);
  CHECK(convolution.message().find("MIOpen could not build") != std::string::npos);
  const base::Error pieces = translated(torch_error(
      "HIP out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.98 GiB of which 0.1 GiB is "
      "free. 8.50 GiB is reserved by PyTorch but unallocated."));
  CHECK(pieces.code() == base::ErrorCode::OutOfMemory);
  CHECK(pieces.message().find("lies in pieces") != std::string::npos);
  CHECK(translated(std::runtime_error("rocBLAS error: Cannot read TensileLibrary.dat")).code() ==
        base::ErrorCode::Device);
}

TEST_CASE("other_errors_of_libtorch_are_bugs_of_ours_in_one_line") {
  const base::Error error = translated(torch_error("shapes do not fit\nstack follows"));
  CHECK(error.code() == base::ErrorCode::Internal);
  CHECK(error.message().find('\n') == std::string::npos);
  CHECK(error.message().find("shapes do not fit") != std::string::npos);
  CHECK(translated(std::runtime_error("odd")).code() == base::ErrorCode::Internal);
}

}  // namespace

}  // namespace cinnabar::worker

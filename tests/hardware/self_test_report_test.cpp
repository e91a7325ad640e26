#include "cinnabar/hardware/self_test_report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace cinnabar::hardware {

namespace {

using nlohmann::ordered_json;

SelfTestReport report_of(bool is_good) {
  SelfTestReport report;
  take_self_test_event(report,
                       {{"type", "self_test"}, {"device", "gpu:0"}, {"libtorch", "2.13.0"}, {"attention", "own"}});
  take_self_test_event(report, {{"type", "self_test"},
                                {"name", "gemm"},
                                {"format", "fp32"},
                                {"is_good", is_good},
                                {"error", is_good ? ordered_json(1e-6) : ordered_json("inf")},
                                {"limit", 2e-3},
                                {"first_ms", 12.0},
                                {"ms", 1.5},
                                {"gflops", 90.0}});
  take_self_test_event(report, {{"type", "phase"}, {"text", "gemm fp16"}});
  return report;
}

TEST_CASE("events_of_the_engine_become_rows") {
  const SelfTestReport report = report_of(true);
  REQUIRE(report.rows.size() == 1);
  CHECK(report.is_good());
  CHECK(report.rows[0].name == "gemm");
  CHECK(report.rows[0].gflops == 90.0);
  const std::string text = self_test_text(report);
  CHECK(text.find("gpu:0, libtorch 2.13.0") != std::string::npos);
  CHECK(text.find("All 1 good") != std::string::npos);
  CHECK(self_test_json(report)["rows"][0]["ms"] == 1.5);
}

TEST_CASE("a_wrong_kernel_is_told") {
  const SelfTestReport report = report_of(false);
  CHECK_FALSE(report.is_good());
  CHECK(self_test_text(report).find("WRONG") != std::string::npos);
  CHECK(self_test_text(report).find("1 of 1 wrong") != std::string::npos);
  CHECK(self_test_json(report)["rows"][0]["error"] == "inf");
}

TEST_CASE("an_error_of_a_kernel_and_an_end_too_early_are_told") {
  SelfTestReport report = report_of(true);
  take_self_test_event(report, {{"type", "self_test"},
                                {"name", "convolution"},
                                {"format", "bf16"},
                                {"is_good", false},
                                {"problem", "miopenStatusUnknownError"}});
  CHECK(self_test_text(report).find("FAILED: miopenStatusUnknownError") != std::string::npos);
  report = report_of(true);
  report.problem = "the engine crashed in convolution fp16 (Aborted)";
  CHECK_FALSE(report.is_good());
  CHECK(self_test_text(report).find("did not come to its end: the engine crashed") != std::string::npos);
  CHECK(self_test_json(report)["problem"].is_string());
  CHECK_FALSE(SelfTestReport{}.is_good());  // nothing was tested
}

}  // namespace

}  // namespace cinnabar::hardware

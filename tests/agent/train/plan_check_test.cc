#include "agent/train/plan_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace weft {
namespace {

using testing::HasSubstr;

const std::vector<Layer> kLayers = {{.name = "fc1", .first = 0, .count = 10, .parameters = {}},
                                    {.name = "relu", .first = 10, .count = 0, .parameters = {}},
                                    {.name = "fc2", .first = 10, .count = 5, .parameters = {}}};

Plan FittingPlan() {
  Plan plan;
  plan.groups = {{.index = 0, .first_layer = 1, .last_layer = 2, .layers = {"fc2", "relu"}, .bytes = 20},
                 {.index = 1, .first_layer = 0, .last_layer = 0, .layers = {"fc1"}, .bytes = 40}};
  return plan;
}

void ExpectRefused(const Plan& plan, const char* what) {
  const Status status = CheckPlanFitsModel(plan, kLayers);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr(what));
}

TEST(PlanCheckTest, PlanOfTheModel_Fits) { EXPECT_TRUE(CheckPlanFitsModel(FittingPlan(), kLayers).ok()); }

TEST(PlanCheckTest, OtherName_IsRefused) {
  Plan plan = FittingPlan();
  plan.groups[0].layers[1] = "tanh";
  ExpectRefused(plan, "plan.groups[0].layers: 'tanh' is not the model's 'relu'");
}

TEST(PlanCheckTest, OtherBytes_AreRefused) {
  Plan plan = FittingPlan();
  plan.groups[1].bytes = 44;
  ExpectRefused(plan, "plan.groups[1].bytes: 44 is not the model's 40");
}

TEST(PlanCheckTest, LayerBeyondTheModel_IsRefused) {
  Plan plan = FittingPlan();
  plan.groups[0].last_layer = 3;
  ExpectRefused(plan, "plan.groups[0]: layer 3 is not one of the model's 3");
}

TEST(PlanCheckTest, LayerInNoGroup_IsRefused) {
  Plan plan = FittingPlan();
  plan.groups.pop_back();
  ExpectRefused(plan, "plan.groups: 20 bytes in all are not the model's 60");
}

}  // namespace
}  // namespace weft

// SPDX-License-Identifier: MIT
#include "replay_plan.hpp"

namespace hmmctl {

json to_json(const replay_plan& plan) {
    return {{"trace", plan.trace},       {"patterns", plan.patterns},
            {"policies", plan.policies}, {"device_memory", plan.device_memory},
            {"prices", plan.prices},     {"seed", plan.seed},
            {"write", plan.write},       {"lists", plan.lists}};
}

replay_plan plan_of_replay(const json& plan) {
    replay_plan result;
    plan.at("trace").get_to(result.trace);
    plan.at("patterns").get_to(result.patterns);
    plan.at("policies").get_to(result.policies);
    plan.at("device_memory").get_to(result.device_memory);
    plan.at("prices").get_to(result.prices);
    plan.at("seed").get_to(result.seed);
    plan.at("write").get_to(result.write);
    plan.at("lists").get_to(result.lists);
    return result;
}

} // namespace hmmctl

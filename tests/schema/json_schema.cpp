// SPDX-License-Identifier: MIT
#include "json_schema.hpp"

#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include <fstream>
#include <map>

using adapter = valijson::adapters::NlohmannJsonAdapter;

struct json_validator::parsed {
    valijson::Schema schema;
};

json_validator::json_validator(const nlohmann::json& schema) : parsed_(std::make_unique<parsed>()) {
    valijson::SchemaParser().populateSchema(adapter(schema), parsed_->schema);
}

json_validator::json_validator(json_validator&&) noexcept = default;
json_validator::~json_validator() = default;

std::string json_validator::what_is_wrong_with(const nlohmann::json& given) const {
    valijson::ValidationResults results;
    if (valijson::Validator().validate(parsed_->schema, adapter(given), &results)) return "";
    std::string all;
    for (valijson::ValidationResults::Error error; results.popError(error);) {
        for (const std::string& part : error.context)
            all += part;
        all += ": " + error.description + "\n";
    }
    return all;
}

const nlohmann::json& hmmctl_schema() {
    static const nlohmann::json schema = [] {
        std::ifstream file(HMMCTL_SCHEMA);
        return nlohmann::json::parse(file);
    }();
    return schema;
}

std::string what_is_wrong_with(const nlohmann::json& given, const std::string& definition) {
    static std::map<std::string, json_validator> read;
    auto place = read.find(definition);
    if (place == read.end()) {
        const nlohmann::json& all = hmmctl_schema().at("definitions");
        all.at(definition); // or there is no such definition
        const nlohmann::json schema = {{"allOf", {{{"$ref", "#/definitions/" + definition}}}},
                                       {"definitions", all}};
        place = read.emplace(definition, json_validator(schema)).first;
    }
    return place->second.what_is_wrong_with(given);
}

// SPDX-License-Identifier: MIT
// Compares JSON with a JSON schema.
#pragma once

#include <nlohmann/json.hpp>

#include <memory>
#include <string>

/// A schema that is read once. Throws std::exception for what is no schema.
class json_validator {
  public:
    explicit json_validator(const nlohmann::json& schema);
    json_validator(json_validator&&) noexcept;
    ~json_validator();

    /// Returns what is wrong with @given, "" if nothing is.
    std::string what_is_wrong_with(const nlohmann::json& given) const;

  private:
    struct parsed;
    std::unique_ptr<parsed> parsed_;
};

/// Returns the schema that is installed with hmmctl.
const nlohmann::json& hmmctl_schema();

/// Returns what is wrong with an answer of hmmctl or a part of it, "" if nothing is. @definition is
/// one of that schema.
std::string what_is_wrong_with(const nlohmann::json& given, const std::string& definition);

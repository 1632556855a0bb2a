"""Makes grafana-dashboard.schema.json from Grafana's published types of a dashboard (npm package @grafana/schema).

    mkdir /tmp/grafana && cd /tmp/grafana
    npm install @grafana/schema@13.2.3 ts-json-schema-generator@2.4.0
    python3 tests/dashboards/make_grafana_schema.py /tmp/grafana > tests/dashboards/grafana-dashboard.schema.json

Only for a new Grafana: the tests read the file that is made. The types leave a panel's options and its field settings
open; here each panel's are held against the types of its own kind, for the kinds that the dashboards have.
"""

import json
import subprocess
import sys

PANELS = ("heatmap", "stat", "timeseries")


def schema_of(folder, path, name):
    """JSON schema of one exported type; its definitions, with names that other files have too, and where it stands."""
    made = subprocess.run(
        ["npx", "ts-json-schema-generator", "--no-type-check", "--type", name, "--path",
         f"node_modules/@grafana/schema/dist/types/raw/{path}/x/types.gen.d.ts"],
        cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout
    prefix = path.replace("/", ".") + "."
    schema = json.loads(made.replace('"#/definitions/', f'"#/definitions/{prefix}'))
    return {prefix + key: value for key, value in schema["definitions"].items()}, {"$ref": schema["$ref"]}


def without_words(schema):
    """Without the descriptions, which validate nothing and are Grafana's own notes. A property may have that name."""
    if isinstance(schema, list):
        return [without_words(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: without_words(value) for key, value in schema.items()
            if key != "description" or not isinstance(value, str)}


def main(folder):
    with open(f"{folder}/node_modules/@grafana/schema/package.json", encoding="utf-8") as package:
        version = json.load(package)["version"]
    definitions, dashboard = schema_of(folder, "dashboard", "Dashboard")
    kinds = []
    for panel in PANELS:
        path = f"composable/{panel}/panelcfg"
        more, options = schema_of(folder, path, "Options")
        definitions.update(more)
        then = {"required": ["options"], "properties": {"options": options}}
        if panel != "stat":  # which has no settings of its own
            more, custom = schema_of(folder, path, "FieldConfig")
            definitions.update(more)
            then["properties"]["fieldConfig"] = {
                "properties": {"defaults": {"properties": {"custom": custom}}}}
        kinds.append({"if": {"properties": {"type": {"const": panel}}}, "then": then})
    json.dump(without_words({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$comment": f"Made by make_grafana_schema.py from @grafana/schema {version}, Copyright Grafana Labs, under the "
                    "Apache License 2.0 (the LICENSE at the root of this repository has its text).",
        "allOf": [dashboard, {
            "required": ["panels"],
            "properties": {"panels": {"items": {
                "properties": {"type": {"enum": ["row", *PANELS]}}, "allOf": kinds}}}}],
        "definitions": definitions,
    }), sys.stdout, indent=1, sort_keys=True)
    print()


main(sys.argv[1])

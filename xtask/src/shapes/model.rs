//! The public service model as botocore ships it: where it is found, and the few facts of it that we keep.
//!
//! It does not know what the service does differently (`overlay`) or how the table looks (`emit`).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The release whose models the checked-in table was made from; a newer one is a deliberate change.
pub(super) const BOTOCORE_VERSION: &str = "1.44.5";

/// One shape: its type and constraints, members in the model's order.
#[derive(Clone, Debug, Default)]
pub(super) struct Shape {
    pub(super) kind: String,
    pub(super) members: Vec<Member>,
    /// The shape of a list's elements or a map's values.
    pub(super) element: Option<String>,
    /// The shape of a map's keys.
    pub(super) key: Option<String>,
    pub(super) min: Option<i64>,
    pub(super) max: Option<i64>,
    pub(super) pattern: Option<String>,
    pub(super) values: Vec<String>,
    /// Whether a text that is an ARN is not held to the bounds of a name; only the overlay says so.
    pub(super) arn_passes: bool,
    /// Whether a map of values is a key whose numbers keep their spelling; only the overlay says so.
    pub(super) spelling_kept: bool,
}

/// Whether a member may be absent, and what is answered if it must not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Optional,
    Required,
    /// Its absence is answered alone, before anything else is looked at.
    RequiredFirst,
}

#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) shape: String,
    pub(super) presence: Presence,
}

/// Both service models, and the input shape of each operation.
#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) shapes: BTreeMap<String, Shape>,
    /// Operation to input shape, in the models' order: DynamoDB, then its streams.
    pub(super) inputs: Vec<(String, String)>,
    /// The shapes as they were read, before the overlay.
    original: BTreeMap<String, Shape>,
}

impl Model {
    /// Reads both models below a folder of botocore.
    pub(super) fn read(botocore: &Path) -> Result<Self, String> {
        let mut model = Self::default();
        for service in ["dynamodb", "dynamodbstreams"] {
            let path = botocore.join("data").join(service).join("2012-08-10").join("service-2.json.gz");
            model.add(&read_gzip(&path)?)?;
        }
        model.original = model.shapes.clone();
        Ok(model)
    }

    /// The members of a structure in the order of the public model.
    pub(super) fn original_order(&self, structure: &str) -> Vec<&str> {
        let members = self.original.get(structure).map(|shape| &shape.members);
        members.into_iter().flatten().map(|member| member.name.as_str()).collect()
    }

    /// Whether the public model lets a member be absent, whatever the overlay says of its checks.
    pub(super) fn originally_optional(&self, structure: &str, member: &str) -> bool {
        let members = self.original.get(structure).map(|shape| &shape.members);
        let found = members.into_iter().flatten().find(|other| other.name == member);
        found.is_none_or(|member| member.presence == Presence::Optional)
    }

    /// Lets a member be absent in the parts too, for those of which the service tells absence from emptiness.
    pub(super) fn tell_absence(&mut self, structure: &str, member: &str) {
        let members = self.original.get_mut(structure).map(|shape| &mut shape.members);
        for found in members.into_iter().flatten().filter(|other| other.name == member) {
            found.presence = Presence::Optional;
        }
    }

    /// The values of an enumeration in the order of the public model.
    pub(super) fn original_values(&self, name: &str) -> Option<&[String]> {
        self.original.get(name).map(|shape| shape.values.as_slice())
    }

    fn add(&mut self, service: &Value) -> Result<(), String> {
        let shapes = object(service, "shapes")?;
        for (name, value) in shapes {
            // Shapes that both models define are the same; the first one, DynamoDB's, stays.
            self.shapes.entry(name.clone()).or_insert(shape(value)?);
        }
        for (name, operation) in object(service, "operations")? {
            let input = operation
                .get("input")
                .and_then(|input| input.get("shape"))
                .and_then(Value::as_str)
                .ok_or_else(|| format!("operation {name} has no input"))?;
            self.inputs.push((name.clone(), input.to_owned()));
        }
        Ok(())
    }

    pub(super) fn shape(&self, name: &str) -> Result<&Shape, String> {
        self.shapes.get(name).ok_or_else(|| format!("the model has no shape {name}"))
    }

    pub(super) fn shape_mut(&mut self, name: &str) -> Result<&mut Shape, String> {
        self.shapes.get_mut(name).ok_or_else(|| format!("the model has no shape {name}"))
    }
}

fn object<'a>(value: &'a Value, name: &str) -> Result<&'a serde_json::Map<String, Value>, String> {
    value.get(name).and_then(Value::as_object).ok_or_else(|| format!("the model has no object \"{name}\""))
}

fn shape(value: &Value) -> Result<Shape, String> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let names = |name: &str| -> Vec<String> {
        let list = value.get(name).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let target = |name: &str| {
        value.get(name).and_then(|inner| inner.get("shape")).and_then(Value::as_str).map(str::to_owned)
    };
    let required = names("required");
    let mut members = Vec::new();
    for (name, member) in value.get("members").and_then(Value::as_object).into_iter().flatten() {
        let shape = member.get("shape").and_then(Value::as_str);
        members.push(Member {
            name: name.clone(),
            shape: shape.ok_or_else(|| format!("member {name} has no shape"))?.to_owned(),
            presence: if required.contains(name) { Presence::Required } else { Presence::Optional },
        });
    }
    Ok(Shape {
        kind: text("type").ok_or("a shape has no type")?,
        members,
        element: target("member").or_else(|| target("value")),
        key: target("key"),
        min: value.get("min").and_then(Value::as_i64),
        max: value.get("max").and_then(Value::as_i64),
        pattern: text("pattern"),
        values: names("enum"),
        arn_passes: false,
        spelling_kept: false,
    })
}

fn read_gzip(path: &Path) -> Result<Value, String> {
    let complain = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let file = File::open(path).map_err(|error| complain(&error))?;
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).map_err(|error| complain(&error))?;
    serde_json::from_str(&text).map_err(|error| complain(&error))
}

/// The folder of botocore that was named, or a download of the release the table was made from.
pub(super) fn locate(root: &Path, named: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(folder) = named {
        return Ok(folder.to_path_buf());
    }
    let folder = root.join("target").join(format!("botocore-{BOTOCORE_VERSION}"));
    if !folder.join("data").exists() {
        let requirement = format!("botocore=={BOTOCORE_VERSION}");
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"]).arg(folder.join("pip"));
        run(pip.arg(requirement))?;
        std::fs::rename(folder.join("pip").join("botocore").join("data"), folder.join("data"))
            .map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    Ok(folder)
}

fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}")) }
}

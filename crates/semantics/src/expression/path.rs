//! Document paths: which place in an item an expression speaks of.
//!
//! It does not know how a path was written: placeholders are already replaced.

/// One step below a top-level attribute.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PathStep {
    /// `.name`: a map's entry.
    Field(String),
    /// `[n]`: a list's element.
    Index(usize),
}

/// A place in an item: a top-level attribute and the steps below it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DocumentPath {
    pub attribute: String,
    pub steps: Vec<PathStep>,
}

impl DocumentPath {
    /// The path of a top-level attribute.
    pub fn top_level(attribute: impl Into<String>) -> Self {
        Self { attribute: attribute.into(), steps: Vec::new() }
    }

    /// Whether the path goes below its top-level attribute.
    pub fn is_nested(&self) -> bool {
        !self.steps.is_empty()
    }
}

/// The form of paths in error texts: `[a, b, [0]]`.
impl std::fmt::Display for DocumentPath {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "[{}", self.attribute)?;
        for step in &self.steps {
            match step {
                PathStep::Field(name) => write!(formatter, ", {name}")?,
                PathStep::Index(index) => write!(formatter, ", [{index}]")?,
            }
        }
        formatter.write_str("]")
    }
}

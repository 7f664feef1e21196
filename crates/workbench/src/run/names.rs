//! Name placeholders of a request: many common attribute names (`status`, `name`, `date`) are reserved words.

/// The attribute names of one request's expressions, each with its placeholder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    names: Vec<(String, String)>,
}

impl Names {
    /// The placeholder of a name.
    pub(super) fn placeholder(&mut self, name: &str) -> String {
        if let Some((placeholder, _)) = self.names.iter().find(|(_, known)| known == name) {
            return placeholder.clone();
        }
        let placeholder = format!("#n{}", self.names.len());
        self.names.push((placeholder.clone(), name.to_owned()));
        placeholder
    }

    /// Each placeholder with its name, in the order in which the names came.
    pub(super) fn all(&self) -> &[(String, String)] {
        &self.names
    }

    /// The names for a request, which must not be given an empty map.
    pub(super) fn some(&self) -> Option<Vec<(String, String)>> {
        (!self.names.is_empty()).then(|| self.names.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keywright_model::expression::{ConditionExpression, Effect, Section};

    #[test]
    fn expressions_of_one_request_share_their_names() {
        let mut names = Names::default();
        let effects = Effect::parse(Section::Set, "a = a + :x").expect("an update");
        let updates: Vec<String> =
            effects.iter().map(|effect| effect.render(|name| names.placeholder(name))).collect();
        assert_eq!(updates, ["#n0 = #n0 + :x"]);
        let condition = ConditionExpression::parse("b > :x AND a < :y").expect("a condition");
        assert_eq!(condition.render(|name| names.placeholder(name)), "#n1 > :x AND #n0 < :y");
        assert_eq!(names.all().len(), 2);
    }
}

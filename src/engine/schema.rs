//! Whether a tool's input fits its schema (T-21). The engine sees a question and an answer; the validator is a library outside the pure rooms.
//!
//! Without a validator nothing is wrong with any JSON object: other input never gets here, because the assembler calls it invalid.

use core::fmt;

use reenact_wire::json::Json;
use reenact_wire::prelude::*;

/// Something in an input that the schema does not allow.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SchemaProblem {
    /// Where, as a path through the input (`edits[1].old_string`); empty for the whole.
    pub path: String,
    /// The expected and the actual value, in words.
    pub expected: String,
}

/// Holds inputs against the schemas of tools. The same question always has the same answer.
pub trait Validate: fmt::Debug + Send + Sync {
    /// The mistakes in an input of this tool; none for a tool without a schema.
    fn problems(&self, tool: &str, input: &Json) -> Vec<SchemaProblem>;
}

/// The validator of an environment, if there is one. It follows from the tools' definitions, so it is neither compared nor written: the reader of an
/// environment attaches it again.
#[derive(Clone, Debug, Default)]
pub struct Validators(Option<Arc<dyn Validate>>);

impl PartialEq for Validators {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Validators {
    /// Asks this one from now on.
    pub fn new(validator: impl Validate + 'static) -> Self {
        Self(Some(Arc::new(validator)))
    }

    /// The problems of the input, each once, in the order of the paths; the library's order does not matter (D2).
    pub fn problems(&self, tool: &str, input: &Json) -> Vec<SchemaProblem> {
        let mut problems = self.0.as_ref().map(|validator| validator.problems(tool, input)).unwrap_or_default();
        problems.sort();
        problems.dedup();
        problems
    }
}

/// How many problems the model is told of at once.
const PROBLEMS_MAX: usize = 10;

/// The list of problems, worded for a model.
pub(crate) fn list(problems: &[SchemaProblem]) -> String {
    let line = |SchemaProblem { path, expected }: &SchemaProblem| match &**path {
        "" => format!("- {expected}"),
        path => format!("- `{path}`: {expected}"),
    };
    let mut lines: Vec<String> = problems.iter().take(PROBLEMS_MAX).map(line).collect();
    if let Some(more) = problems.len().checked_sub(PROBLEMS_MAX).filter(|more| *more > 0) {
        lines.push(format!("- and {more} more"));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct FixedValidator(Vec<(&'static str, &'static str)>);

    impl Validate for FixedValidator {
        fn problems(&self, _tool: &str, _input: &Json) -> Vec<SchemaProblem> {
            self.0.iter().map(|(path, expected)| SchemaProblem { path: (*path).into(), expected: (*expected).into() }).collect()
        }
    }

    #[test]
    fn t_21_problems_have_one_order_and_come_once() {
        let says = |problems: &[(&'static str, &'static str)]| {
            Validators::new(FixedValidator(problems.to_vec())).problems("Bash", &Json::default())
        };
        assert_eq!(says(&[("b", "x"), ("a", "y"), ("b", "x"), ("a", "x")]), says(&[("a", "x"), ("a", "y"), ("b", "x")]));
        assert_eq!(Validators::default().problems("Bash", &Json::default()), []);
    }

    #[test]
    fn t_21_each_problem_names_its_path_and_a_flood_is_cut() {
        let problem = |path: &str| SchemaProblem { path: path.into(), expected: "a string was expected, a number is there".into() };
        assert_eq!(list(&[problem("")]), "- a string was expected, a number is there");
        assert_eq!(list(&[problem("edits[0].old_string")]), "- `edits[0].old_string`: a string was expected, a number is there");
        assert!(list(&vec![problem("a"); 10]).lines().count() == 10);
        assert!(list(&vec![problem("a"); 12]).ends_with("\n- and 2 more"));
    }
}

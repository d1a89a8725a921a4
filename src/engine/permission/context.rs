//! Permissions that a session has added since it began: rules that the person added with an answer, and context changes of tools
//! (T-11, T-24).

use super::{PermissionMode, PermissionRule, PermissionWord, RuleSource, rule};
use reenact_wire::prelude::*;

/// Added to the settings for the rest of the session.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(crate) struct PermissionContext {
    /// In place of the settings' own.
    pub(super) mode: Option<PermissionMode>,
    /// Beside the settings' own.
    pub(super) rules: Vec<PermissionRule>,
}

impl PermissionContext {
    /// The mode that a tool has set.
    pub(crate) fn mode(&self) -> Option<PermissionMode> {
        self.mode
    }

    /// Whether nothing was learnt.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds a rule that the person allowed from now on.
    pub(crate) fn allow(&mut self, about: &Arc<str>) {
        self.add(PermissionWord::Allow, about);
    }

    /// Applies a context change if it is about permissions: `allow RULE`, `ask RULE`, `deny RULE`, `mode WORD`. Any other change (the working
    /// directory, say) is a matter of the tools.
    pub(crate) fn apply(&mut self, change: &str) {
        let Some((word, rest)) = change.split_once(' ') else { return };
        if word == "mode" {
            self.mode = PermissionMode::from_word(rest).or(self.mode);
        } else if let Some(word) = PermissionWord::from_word(word)
            && rule::problem(rest).is_none()
        {
            self.add(word, rest);
        }
    }

    fn add(&mut self, word: PermissionWord, about: &str) {
        let rule = PermissionRule { word, about: about.into(), source: RuleSource::CommandLine };
        if !self.rules.contains(&rule) {
            self.rules.push(rule);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_11_a_change_about_permissions_is_applied_and_another_is_not() {
        let mut context = PermissionContext::default();
        for other in ["cwd=/w", "cwd /w", "mode", "mode fast", "allow", "allow Bash(", "Allow Bash"] {
            context.apply(other);
            assert!(context.is_empty(), "{other}");
        }
        for change in ["allow Bash(git *)", "deny Read", "allow Bash(git *)", "mode plan", "mode nonsense"] {
            context.apply(change);
        }
        let rules: Vec<_> = context.rules.iter().map(|rule| (rule.word, &*rule.about)).collect();
        assert_eq!(rules, [(PermissionWord::Allow, "Bash(git *)"), (PermissionWord::Deny, "Read")]);
        assert_eq!(context.mode, Some(PermissionMode::Plan));
    }
}

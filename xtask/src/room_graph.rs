//! The arrows between the rooms as a drawing: what `cargo xtask diagrams` writes into ARCHITECTURE.md beside the state diagrams, from the manifests.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::Checkout;

/// The rooms that each room imports.
type RoomArrows = BTreeMap<String, BTreeSet<String>>;

/// A drawing in Mermaid's words. An arrow that follows from others is left out.
pub(crate) fn drawn(checkout: &Checkout) -> String {
    let imports = read(checkout);
    let mut text = String::from("\n```mermaid\ngraph BT\n");
    for (room, imported) in &imports {
        for target in imported.iter().filter(|target| !follows(&imports, imported, target)) {
            text += &format!("    {room} --> {target}\n");
        }
    }
    text + "```\n\n"
}

/// Test dependencies are no arrows: they begin a section of their own.
fn read(checkout: &Checkout) -> RoomArrows {
    let rooms = checkout.rooms();
    let manifests = rooms.iter().filter_map(|room| Some((*room, checkout.file(&format!("src/{room}/Cargo.toml"))?)));
    let imports = manifests.map(|(room, manifest)| {
        let sections = manifest.text.split("\n[").filter(|section| section.starts_with("dependencies]"));
        let keys = sections.flat_map(str::lines).filter_map(|line| line.strip_prefix("reenact-")?.split(['.', ' ']).next());
        (room.to_string(), keys.map(str::to_string).collect())
    });
    imports.collect()
}

/// Whether another import of the room imports this one, over any number of steps.
fn follows(imports: &RoomArrows, imported: &BTreeSet<String>, target: &str) -> bool {
    imported.iter().filter(|other| *other != target).any(|other| reaches(imports, other, target))
}

fn reaches(imports: &RoomArrows, from: &str, target: &str) -> bool {
    imports.get(from).is_some_and(|next| next.iter().any(|room| room == target || reaches(imports, room, target)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrow_that_follows_from_others_is_left_out() {
        let manifest = |imports: &[&str]| {
            let keys: String = imports.iter().map(|room| format!("reenact-{room}.workspace = true\n")).collect();
            format!(
                "[package]\nname = \"x\"\n\n[dependencies]\nserde.workspace = true\n{keys}\n[dev-dependencies]\nreenact-late.workspace = true\n"
            )
        };
        let files = [("src/a", manifest(&[])), ("src/b", manifest(&["a"])), ("src/c", manifest(&["a", "b"]))];
        let paths: Vec<(String, String)> = files
            .iter()
            .flat_map(|(room, text)| [(format!("{room}/Cargo.toml"), text.clone()), (format!("{room}/lib.rs"), String::new())])
            .collect();
        let paths: Vec<(&str, &str)> = paths.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        assert_eq!(drawn(&Checkout::from_files(&paths)), "\n```mermaid\ngraph BT\n    b --> a\n    c --> b\n```\n\n");
    }
}

//! The cells of a notebook with what they gave (B-1).

use serde_json::Value;

use reenact_engine::contract::ToolOutcome;
use reenact_wire::prelude::*;

use crate::outcome::{blocks, text_block};

/// Each cell as a block of text, with its outputs behind it; images of outputs as blocks of their own.
///
/// # Errors
/// It is no notebook.
pub(crate) fn cells(content: &[u8]) -> Result<ToolOutcome, String> {
    let notebook: Value = serde_json::from_slice(content).map_err(|error| format!("it is no notebook: {error}"))?;
    let cells = notebook["cells"].as_array().ok_or("it is no notebook: it has no cells")?;
    let mut shown = Vec::new();
    for (index, cell) in cells.iter().enumerate() {
        let kind = cell["cell_type"].as_str().unwrap_or("code");
        shown.push(text_block(&format!("<cell {} {kind}>\n{}\n</cell>", index + 1, joined(&cell["source"]))));
        for output in cell["outputs"].as_array().into_iter().flatten() {
            shown.extend(output_blocks(output));
        }
    }
    if shown.is_empty() {
        shown.push(text_block("(the notebook has no cells)"));
    }
    Ok(blocks(&shown))
}

fn output_blocks(output: &Value) -> Vec<Value> {
    let data = &output["data"];
    let image = ["image/png", "image/jpeg"].into_iter().find_map(|kind| Some((kind, data[kind].as_str()?)));
    let text = match output["output_type"].as_str() {
        Some("stream") => joined(&output["text"]),
        Some("error") => joined(&output["traceback"]),
        _ => joined(&data["text/plain"]),
    };
    let text = (!text.is_empty()).then(|| text_block(&format!("<output>\n{text}\n</output>")));
    let image = image.map(|(kind, data)| {
        let data: String = data.split_whitespace().collect();
        serde_json::json!({ "type": "image", "source": { "type": "base64", "media_type": kind, "data": data } })
    });
    text.into_iter().chain(image).collect()
}

/// A text that notebooks write as one string, or as a list of lines.
fn joined(text: &Value) -> String {
    match text {
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        other => other.as_str().unwrap_or_default().to_owned(),
    }
}

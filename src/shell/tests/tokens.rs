//! The tokens of commands (W-1).

use reenact_wire::prelude::*;

use super::parts;
use crate::{ShellProblem, ShellToken, lexemes};

/// The tokens of a command as short texts.
fn tokens(command: &str) -> Vec<String> {
    let of = |token: &ShellToken| match token {
        ShellToken::Word(word) => parts(word).concat(),
        ShellToken::Operator(operator) => format!("`{operator}`"),
        ShellToken::Descriptor(number) => format!("{number}:"),
        ShellToken::HereDocument(body) => format!("<<[{}]", parts(body).concat()),
        ShellToken::Newline => String::from("\\n"),
    };
    lexemes(command).unwrap_or_else(|error| panic!("{error}: {command:?}")).iter().map(|lexeme| of(&lexeme.token)).collect()
}

#[test]
fn w_1_operators_are_cut_at_the_longest() {
    let all = "a || b && c ;; d ; e |& f | g < h > i >> j <<< k >& l >| m & ( n ) <& <>";
    let expected = "a `||` b `&&` c `;;` d `;` e `|&` f `|` g `<` h `>` i `>>` j `<<<` k `>&` l `>|` m `&` `(` n `)` `<&` `<>`";
    assert_eq!(tokens(all).join(" "), expected);
    assert_eq!(
        tokens("a||b|c&&d&e>>f>g 2>&1 22<x a2>y"),
        [
            "a", "`||`", "b", "`|`", "c", "`&&`", "d", "`&`", "e", "`>>`", "f", "`>`", "g", "2:", "`>&`", "1", "22:", "`<`", "x", "a2",
            "`>`", "y"
        ]
    );
}

#[test]
fn w_1_quotes_comments_and_lines() {
    assert_eq!(tokens("a'b c'\"d\" e\\ f"), ["a'b cd'", "e' 'f"]);
    assert_eq!(tokens("a # b 'c\nd#e '#f'"), ["a", "\\n", "d#e", "'#f'"]);
    assert_eq!(tokens("a\\\nb '' \"\""), ["ab", "''", "''"]);
    assert_eq!(tokens("\"a $b ${c} \\$d\" '$e' \\$f $g ${h}"), ["'a ''$b'' ''$c'' $d'", "'$e'", "'$'f", "$g", "$h"]);
    assert_eq!(tokens("$? ${x:-y} $((1+2)) ${#x}"), ["<$?>", "<${x:-y}>", "<$((1+2))>", "<${#x}>"]);
}

#[test]
fn w_1_substitutions_lie_in_each_other() {
    assert_eq!(tokens("a $(b $(c d) e) `f \\`g\\`` \"$(h)\""), ["a", "(3)", "(2)", "''(1)"]);
    assert_eq!(tokens("\"`a \\\"b c\\\"`\" `a \\\"b c\\\"`"), ["''(2)", "(3)"], "in quotes the quote loses its backslash");
    assert_eq!(tokens("diff <(a b) >(c)"), ["diff", "(2)", "(1)"]);
    assert_eq!(tokens("a $(b ')' \"$(c)\" # )\n)"), ["a", "(4)"]);
    assert_eq!(tokens("$( (a) )"), ["(3)"]);
}

#[test]
fn w_1_here_documents_stand_on_the_lines_behind() {
    assert_eq!(tokens("a <<E <<-'F' b\n$x\nE\n\t$y\n\tF\nc"), ["a", "<<['''$x''\n']", "<<['$y\n']", "b", "\\n", "c"]);
    assert_eq!(tokens("a <<E\nno end"), ["a", "<<['no end']", "\\n"]);
    assert_eq!(tokens("x $(cat <<E\n)\nE\n) y"), ["x", "(3)", "y"]);
}

#[test]
fn w_1_what_is_open_is_an_error_with_its_place() {
    let problem = |command: &str| lexemes(command).map_err(|error| (error.problem, error.at)).unwrap_err();
    assert_eq!(problem("a 'b"), (ShellProblem::OpenQuote('\''), 2));
    assert_eq!(problem("a b\"c $d"), (ShellProblem::OpenQuote('"'), 3));
    assert_eq!(problem("a $(b"), (ShellProblem::OpenExpansion("$("), 2));
    assert_eq!(problem("a `b"), (ShellProblem::OpenExpansion("`"), 2));
    assert_eq!(problem("a ${b"), (ShellProblem::OpenExpansion("${"), 2));
    assert_eq!(problem("a $((1"), (ShellProblem::OpenExpansion("$(("), 2));
    assert_eq!(problem("a ) b"), (ShellProblem::StrayParenthesis, 2));
    assert_eq!(problem("a <<"), (ShellProblem::NoDelimiter, 2));
    assert_eq!(problem(&"$(".repeat(100)).0, ShellProblem::TooDeep);
    assert_eq!(lexemes("ü 'b").unwrap_err().to_string(), "the quote ' is not closed at byte 3");
    let places: Vec<usize> = lexemes("ab  c|d\ne").unwrap().iter().map(|lexeme| lexeme.at).collect();
    assert_eq!(places, vec![0, 4, 5, 6, 7, 8]);
}

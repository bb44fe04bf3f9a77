use super::*;

fn rendered(text: &str, diagnostic: &Diagnostic) -> String {
    render(diagnostic, &Source::new("rules/api.yaml", text))
}

#[test]
fn a_place_in_the_middle_gets_its_caret_and_its_help() {
    let text = "rules:\n  - name: a\n    limit: 10/fortnight\n";
    let at = text.find("fortnight").unwrap();
    let diagnostic = Diagnostic::error("limit", Span::new(at, at + 9), "`fortnight` is no unit of time")
        .label("no such unit")
        .help("write s, min, h, day, week, month or year");
    assert_eq!(
        rendered(text, &diagnostic),
        "error[limit]: `fortnight` is no unit of time\n --> rules/api.yaml:3:15\n  |\n3 |     limit: 10/fortnight\n  \
         |               ^^^^^^^^^ no such unit\n  = help: write s, min, h, day, week, month or year\n"
    );
}

#[test]
fn an_empty_place_and_one_beyond_the_end_still_show_a_caret() {
    let diagnostic = Diagnostic::warning("empty", Span::new(4, 4), "nothing is here");
    assert!(rendered("a: b\n", &diagnostic).ends_with("1 | a: b\n  |     ^\n"));
    let beyond = Diagnostic::error("end", Span::new(99, 120), "the text ends here");
    assert!(rendered("a: b\n", &beyond).contains(":2:1\n"));
}

#[test]
fn a_place_over_several_lines_is_shown_to_the_end_of_its_first() {
    let diagnostic = Diagnostic::error("map", Span::new(3, 12), "not here");
    assert!(rendered("a: {b: 1,\n  c: 2}\n", &diagnostic).contains("1 | a: {b: 1,\n  |    ^^^^^^\n"));
}

#[test]
fn a_very_long_line_is_cut_around_the_place() {
    let text = format!("a: {}!{}\n", "x".repeat(5_000), "y".repeat(5_000));
    let at = text.find('!').unwrap();
    let shown = rendered(&text, &Diagnostic::error("long", Span::new(at, at + 1), "here"));
    assert!(shown.lines().all(|line| line.chars().count() < 200), "{shown}");
    let caret = shown.lines().last().unwrap().find('^').unwrap();
    assert_eq!(shown.lines().nth(3).unwrap().chars().nth(caret), Some('!'));
}

#[test]
fn all_are_shown_in_the_order_of_their_places_and_too_many_are_counted() {
    let mut diagnostics = Diagnostics::default();
    for at in (0..250).rev() {
        diagnostics.push(Diagnostic::warning("many", Span::new(at, at + 1), format!("number {at}")));
    }
    let source = Source::new("a", "x".repeat(300));
    let text = diagnostics.render(&source);
    assert!(text.find("number 51").unwrap() < text.find("number 52").unwrap());
    assert!(text.ends_with("... and 50 more\n") && !diagnostics.has_errors());
}

#[test]
fn the_nearest_word_is_named_only_if_it_is_near() {
    let words = ["limit", "limits", "match", "by", "name"];
    assert_eq!(nearest("limts", words), Some("limits"));
    assert_eq!(nearest("mach", words), Some("match"));
    assert_eq!(nearest("Name", words), Some("name"));
    assert_eq!(nearest("throughput", words), None);
    assert_eq!(nearest("", words), None);
}

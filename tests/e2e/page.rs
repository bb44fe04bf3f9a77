//! A page of the documentation, taken apart for those who do what it says.

/// The fenced texts of that kind.
pub(crate) fn fenced<'a>(page: &'a str, kind: &str) -> Vec<&'a str> {
    let opening = format!("```{kind}\n");
    page.split(&opening).skip(1).map(|rest| rest.split_once("\n```").unwrap().0).collect()
}

/// What is typed at that prompt, and the lines that come of it.
pub(crate) fn typed<'a>(page: &'a str, prompt: &str) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut typed: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in
        fenced(page, "console").into_iter().filter(|text| text.starts_with(prompt)).flat_map(str::lines)
    {
        match line.strip_prefix(prompt) {
            Some(line) => typed.push((line, Vec::new())),
            None => typed.last_mut().expect("something was typed").1.push(line),
        }
    }
    typed
}

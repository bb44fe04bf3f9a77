//! `tidegate openapi`: what the doors that speak HTTP answer, as OpenAPI documents.

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use tidegate_server::openapi::{self, Token};

use crate::exit::Failure;
use crate::output::print;

/// Prints the OpenAPI document of a door.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidegate openapi > openapi.json\n  tidegate openapi admin\n\nA running server answers the same: /openapi.json at the HTTP door, /admin/openapi.json at the admin door."
)]
pub(crate) struct OpenapiArgs {
    /// The door
    #[arg(value_enum, default_value_t)]
    door: Door,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Door {
    /// The HTTP API
    #[default]
    Http,
    /// Metrics and administration
    Admin,
}

/// Prints it.
pub(crate) fn run(args: &OpenapiArgs) -> Result<(), Failure> {
    let document = match args.door {
        Door::Http => openapi::http(Token::Maybe),
        Door::Admin => openapi::admin(Token::Maybe),
    };
    print(&format!("{document:#}\n")).context("cannot print")?;
    Ok(())
}

//! Output formats: `-o` everywhere, and reports for continuous integration.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
use clap::{Args, ValueEnum};

/// The output format of data that is shown in tables.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct DataOutput {
    /// Output format
    #[arg(short = 'o', long = "output", value_name = "FORMAT", default_value = "table")]
    pub(crate) format: DataFormat,
}

/// The output format of an answer in sentences, which has no rows to name or to widen.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct TextOutput {
    /// Output format
    #[arg(short = 'o', long = "output", value_name = "FORMAT", default_value = "table", value_parser = text_formats())]
    pub(crate) format: DataFormat,
}

fn text_formats() -> impl clap::builder::TypedValueParser<Value = DataFormat> {
    let formats = [DataFormat::Table, DataFormat::Json, DataFormat::Yaml];
    let values: Vec<PossibleValue> = formats.iter().filter_map(ValueEnum::to_possible_value).collect();
    PossibleValuesParser::new(values).try_map(|name| DataFormat::from_str(&name, false))
}

/// The output format of findings.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct FindingOutput {
    /// Output format
    #[arg(short = 'o', long = "output", value_name = "FORMAT", default_value = "table")]
    pub(crate) format: FindingFormat,
}

/// A format for data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DataFormat {
    /// Text for people
    Table,
    /// Text with everything, however long
    Wide,
    /// JSON
    Json,
    /// YAML
    Yaml,
    /// Only names, one a line
    Name,
}

impl DataFormat {
    /// Whether it is text for a person; notes about the run are printed beside it.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, DataFormat::Table | DataFormat::Wide)
    }
}

/// A format for findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FindingFormat {
    /// Text for people
    Table,
    /// Text with everything, however long
    Wide,
    /// JSON
    Json,
    /// YAML
    Yaml,
    /// SARIF 2.1.0, for code hosting
    Sarif,
}

impl FindingFormat {
    /// Whether it is text for a person.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, FindingFormat::Table | FindingFormat::Wide)
    }
}

/// The results of tests in a file.
#[derive(Debug, Clone, Args)]
pub(crate) struct TestReport {
    /// Also write the results to this file in JUnit format
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
}

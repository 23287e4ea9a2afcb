use super::*;
use proptest::prelude::*;

/// Labels and samples of a series.
type Row<'r> = (&'r [(&'r str, &'r str)], &'r [(i64, f64)]);

fn build(rows: &[Row<'_>]) -> Result<Series, BuildError> {
    let mut builder = Builder::default();
    for (labels, samples) in rows {
        for (name, value) in *labels {
            builder.label(name, value)?;
        }
        let series = builder.series()?;
        for (time, value) in *samples {
            builder.sample(series, *time, *value)?;
        }
    }
    builder.finish()
}

#[test]
fn series_stand_in_the_order_of_their_labels_and_samples_in_that_of_time() {
    let series = build(&[
        (&[("__name__", "b"), ("z", "1")], &[(2, 2.0), (1, 1.0)]),
        (&[("b", "y"), ("__name__", "a"), ("c", "")], &[(5, 5.0)]),
        (&[("__name__", "b"), ("z", "1")], &[(3, 3.0), (1, 1.0)]),
    ])
    .unwrap();
    let rows: Vec<(String, Vec<i64>, Vec<f64>)> =
        series.iter().map(|(l, s)| (l.to_string(), s.times.to_vec(), s.values.to_vec())).collect();
    assert_eq!(
        rows,
        [("a{b=\"y\"}".to_owned(), vec![5], vec![5.0]), ("b{z=\"1\"}".to_owned(), vec![1, 2, 3], vec![1.0, 2.0, 3.0])]
    );
    assert_eq!((series.metrics(), series.len()), (vec!["a", "b"], 2));
}

#[test]
fn series_scraped_together_share_their_times() {
    let series = build(&[
        (&[("__name__", "a")], &[(1, 1.0), (2, 2.0)]),
        (&[("__name__", "b")], &[(1, 3.0), (2, 4.0)]),
        (&[("__name__", "c")], &[(1, 5.0), (2, STALE)]),
    ])
    .unwrap();
    assert_eq!((series.times.len(), series.samples()), (2, 6));
    let last = series.iter().last().unwrap().1;
    assert!(is_stale(last.values[1]) && last.special && !series.iter().next().unwrap().1.special);
}

#[test]
fn contradictions_are_refused_by_name() {
    let twice = build(&[(&[("__name__", "a"), ("l", "x"), ("l", "y")], &[])]);
    assert_eq!(twice.err(), Some(BuildError::LabelTwice("l".to_owned())));
    let two = build(&[(&[("__name__", "a")], &[(1, 1.0)]), (&[("__name__", "a")], &[(1, 2.0)])]);
    assert_eq!(two.unwrap_err().to_string(), "a has two values at 1 ms.");
}

#[test]
fn a_full_store_takes_no_more() {
    let mut builder = Builder::new(Capacity { series: 1, samples: 1, bytes: 35 });
    builder.label("__name__", "a").unwrap();
    let series = builder.series().unwrap();
    builder.sample(series, 1, 1.0).unwrap();
    assert_eq!(builder.sample(series, 2, 1.0), Err(BuildError::TooManySamples(1)));
    assert_eq!(builder.label("a", "0123456789"), Err(BuildError::TooMuchText(35)));
    builder.label("a", "b").unwrap();
    assert_eq!(builder.series(), Err(BuildError::TooManySeries(1)));
}

proptest! {
    /// Whatever the order samples come in, the store is the same.
    #[test]
    fn the_order_of_the_input_does_not_matter(mut samples in prop::collection::vec((0_u8..6, 0_i64..20), 1..60)) {
        samples.sort_unstable();
        samples.dedup();
        let fill = |samples: &[(u8, i64)]| {
            let mut builder = Builder::default();
            for (name, time) in samples {
                builder.label("__name__", &format!("m{name}")).unwrap();
                let series = builder.series().unwrap();
                builder.sample(series, *time, f64::from(*name)).unwrap();
            }
            let series = builder.finish().unwrap();
            series.iter().map(|(l, s)| format!("{l} {:?} {:?}", s.times, s.values)).collect::<Vec<_>>()
        };
        let sorted = fill(&samples);
        samples.reverse();
        prop_assert_eq!(sorted, fill(&samples));
    }
}

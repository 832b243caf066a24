//! Golden files: layers, gradients and training steps computed by PyTorch Geometric in double precision,
//! matched to 1e-9 in f64 and 1e-4 in f32. `SUPERGAT_PARITY_DIR` names another folder of such files.

use serde_json::Value;
use std::path::PathBuf;
use supergat_core::device::{Adam, FromAbove, Input, Join, Place, Readings};
use supergat_core::hyperparameters::NetworkSettings;
use supergat_core::layers::{EdgeInput, Layer, Scratch, Shape};
use supergat_core::memory::Arena;
use supergat_core::{
    Activation, Architecture, Convolution, Direction, Duplicates, EdgeAttributes, Example, Features, Form, Graph,
    HeadLayout, Labels, ModelKind, Network, Prepared, Real, Residual, Session, SingleDevice, TrainConfig,
};
use supergat_cpu::Cpu;

/// Returns all golden files with their names.
fn all_files() -> Vec<(String, Value)> {
    let folder = std::env::var_os("SUPERGAT_PARITY_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../supergat-cpu/tests/parity"), PathBuf::from);
    let mut found: Vec<(String, Value)> = std::fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .map(|path| {
            let json: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            (path.file_name().unwrap().to_string_lossy().into_owned(), json)
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(!found.is_empty(), "no golden file in {}", folder.display());
    found
}

/// Returns the golden files of a kind.
fn files(kind: &str) -> Vec<(String, Value)> {
    all_files().into_iter().filter(|(_, json)| json["kind"] == kind).collect()
}

/// Returns all numbers of a nested array, in order.
fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        Value::Null => vec![],
        number => vec![number.as_f64().expect("a number")],
    }
}

fn cast<T: Real>(value: &Value) -> Vec<T> {
    numbers(value).into_iter().map(T::from_f64).collect()
}

fn pairs(value: &Value) -> Vec<[u32; 2]> {
    numbers(value).chunks(2).map(|p| [p[0] as u32, p[1] as u32]).collect()
}

fn size(value: &Value) -> usize {
    value.as_u64().expect("a whole number") as usize
}

/// Prepares an example for a network with all edges as positives and no sampled negatives.
fn prepared<D: SingleDevice>(device: &D, example: &Example<D::Number>, model: ModelKind) -> Prepared<D> {
    let config = TrainConfig::default().with(|c| (c.edge_loss.p_e, c.edge_loss.p_n) = (1.0, 0.0));
    Prepared::on(device, std::slice::from_ref(example), Architecture::new(model, example), config).unwrap()
}

fn form(value: &Value) -> Form {
    serde_json::from_value(value.clone()).expect("go, dp, sd or mx")
}

fn close<T: Real>(what: &str, found: &[T], expected: &Value, tolerance: f64) {
    let expected = numbers(expected);
    assert_eq!(found.len(), expected.len(), "{what}: number of values");
    for (k, (f, e)) in found.iter().zip(expected).enumerate() {
        let difference = (f.to_f64() - e).abs() / e.abs().max(1.0);
        assert!(difference <= tolerance, "{what}[{k}]: found {f}, expected {e}");
    }
}

fn example<T: Real>(file: &Value, labels: Labels, train: Vec<u32>) -> Example<T> {
    let nodes = size(&file["nodes"]);
    let edges: Vec<(u32, u32)> = pairs(&file["edges"]).into_iter().map(|[from, to]| (from, to)).collect();
    let graph = Graph::from_edges(nodes, &edges, Direction::Directed).unwrap();
    let x = cast(&file["x"]);
    let columns = x.len() / nodes;
    Example::new(graph, Features::dense(nodes, columns, x).unwrap(), labels, [train, vec![], vec![]]).unwrap()
}

/// Returns two matrices of `columns` columns side by side, as the weights of GATv2 are stored.
fn side_by_side(file: &Value, [first, second]: [&str; 2], columns: usize) -> Value {
    let (first, second) = (numbers(&file[first]), numbers(&file[second]));
    let rows = first.chunks(columns).zip(second.chunks(columns));
    rows.flat_map(|(first, second)| first.iter().chain(second).copied()).collect()
}

/// Compares an attention layer: output, attention, edge loss, objective and all gradients. Files of GATv2 have no edge
/// loss.
fn check_layer<D: SingleDevice>(device: &D, name: &str, file: &Value, tolerance: f64) {
    let (heads, features) = (size(&file["heads"]), size(&file["out_features"]));
    let concat = file["concat"].as_bool().unwrap();
    let nodes = size(&file["nodes"]);
    let labels = Labels::Single { classes: 1, of: vec![0; nodes] };
    let mut example = example::<D::Number>(file, labels, vec![0]);
    if file["kind"] == "edge" {
        let weights = (!file["weight"].is_null()).then(|| numbers(&file["weight"]));
        let (width, features) = (size(&file["edge_features"]), cast(&file["f"]));
        let edges = EdgeAttributes::of_links(&example.graph, weights.as_deref(), width, &features, Duplicates::Error);
        example = example.with_edges(edges.unwrap()).unwrap();
    }
    let input = HeadLayout::plain(size(&file["in_features"]));
    let join = if concat { Join::Concat } else { Join::Mean };
    let edge_features = file["edge_features"].as_u64().unwrap_or(0) as usize;
    let edges = EdgeInput { features: edge_features, messages: !file["v"].is_null() };
    let shape = Shape { input, heads, features, join, dropout: 0.0, edges };
    let is_v2 = file["kind"] == "gatv2";
    let form = if is_v2 { Form::V2 } else { form(&file["form"]) };
    let of_sides = |names| side_by_side(file, names, heads * features);
    let weight = if is_v2 { of_sides(["w_source", "w_target"]) } else { file["w"].clone() };
    let mut layer = Layer::attention(device, 0, shape, form, 0.2).unwrap();
    layer.weight.set_rows(device, &cast(&weight)).unwrap();
    for (name, key) in [("layer1.a", "a"), ("layer1.u", "u"), ("layer1.v", "v")] {
        if let Some(parameter) = layer.parameters_mut().find(|parameter| parameter.name == name) {
            parameter.set_rows(device, &cast(&file[key])).unwrap();
        }
    }
    layer.output.bias.set_rows(device, &cast(&file["bias"])).unwrap();

    let prepared = prepared(device, &example, ModelKind::Attention { form, self_supervised: true });
    let context = prepared.context(0, None);
    let (mut cache, mut scratch) = prepared.memory_of(&layer).unwrap();
    let layout = layer.layout();
    layer.forward(&context, Input::Features, &mut cache).unwrap();

    // Converts the layout of the kernels to rows of [head][feature].
    let canonical = |rows: &[D::Number], layout: HeadLayout, stride: usize| -> Vec<D::Number> {
        rows.chunks(stride).take(nodes).flat_map(|row| layout.canonical().map(|p| row[p]).collect::<Vec<_>>()).collect()
    };
    let out = if concat {
        canonical(&download(device, &cache.output, nodes * layout.stride()), layout, layout.stride())
    } else {
        download(device, &cache.output, nodes * features)
    };
    close(&format!("{name}: out"), &out, &file["out"], tolerance);

    let [coefficients, _] = layer.attended(&context, &cache).expect("attention").edge_values().unwrap();
    let listed = pairs(&file["edges"]).into_iter().chain((0..nodes as u32).map(|i| [i, i]));
    let in_file_order: Vec<D::Number> = listed
        .flat_map(|[from, to]| {
            let at = example.graph.position(from, to).unwrap() * heads;
            coefficients[at..at + heads].to_vec()
        })
        .collect();
    close(&format!("{name}: attention"), &in_file_order, &file["attention"], tolerance);

    // objective = sum(out * r) + 1.7 * edge_loss, so the gradient of the output is r.
    let r: Vec<D::Number> = cast(&file["r"]);
    let negatives = pairs(&file["negatives"]);
    context.set_samples(&negatives, &mut scratch).unwrap();
    let of_mean = upload(device, &r);
    let above = if concat {
        let mut gradient = vec![D::Number::ZERO; nodes * layout.stride()];
        for (node, row) in r.chunks(heads * features).enumerate() {
            for (k, place) in layout.canonical().enumerate() {
                gradient[node * layout.stride() + place] = row[k];
            }
        }
        device.upload(&gradient, &mut scratch.gradient).unwrap();
        FromAbove::Concat(None)
    } else {
        FromAbove::Mean(&of_mean)
    };
    let mut record = device.record(1).unwrap();
    let place = Place { record: &mut record, example: 0 };
    let lambda_e = (!is_v2).then_some(1.7);
    layer.backward(&context, Input::Features, above, lambda_e, &mut cache, &mut scratch, place).unwrap();
    let mut readings = Readings::new(1);
    device.read(&record, &mut readings).unwrap();
    if !is_v2 {
        let edge_loss = readings.losses[0][1];
        close(&format!("{name}: edge loss"), &[edge_loss], &file["edge_loss"], tolerance);
        let inner: f64 = out.iter().zip(&r).map(|(o, r)| (*o * *r).to_f64()).sum();
        close(&format!("{name}: objective"), &[inner + 1.7 * edge_loss], &file["objective"], tolerance);

        // The edge logits of pairs give the same loss.
        let attended = layer.attended(&context, &cache).expect("attention");
        let mean_logits = attended.pair_logits(&negatives).unwrap();
        let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
        let all_edges: Vec<[u32; 2]> = (0..nodes)
            .flat_map(|i| example.graph.incoming().of(i).iter().map(move |&j| [j, i as u32]).collect::<Vec<_>>())
            .collect();
        let positive: f64 = attended.pair_logits(&all_edges).unwrap().iter().map(|x| softplus(-x.to_f64())).sum();
        let negative: f64 = mean_logits.iter().map(|x| softplus(x.to_f64())).sum();
        let mean = (positive + negative) / (all_edges.len() + negatives.len()) as f64;
        close(&format!("{name}: loss of pair logits"), &[mean], &file["edge_loss"], tolerance);
    }

    let weight = if is_v2 { of_sides(["grad_w_source", "grad_w_target"]) } else { file["grad_w"].clone() };
    close(&format!("{name}: grad_w"), &layer.weight.gradient_to_rows(device).unwrap(), &weight, tolerance);
    close(
        &format!("{name}: grad_bias"),
        &layer.output.bias.gradient_to_rows(device).unwrap(),
        &file["grad_bias"],
        tolerance,
    );
    for (parameter, key) in [("layer1.a", "grad_a"), ("layer1.u", "grad_u"), ("layer1.v", "grad_v")] {
        let parameter = layer.parameters().find(|p| p.name == parameter);
        let gradient = parameter.map(|p| p.gradient_to_rows(device).unwrap()).unwrap_or_default();
        close(&format!("{name}: {key}"), &gradient, &file[key], tolerance);
    }

    let width = input.features;
    let d_x = input_gradient(device, &layer, &scratch, nodes, width);
    close(&format!("{name}: grad_x"), &d_x, &file["grad_x"], tolerance);
}

/// Computes `projected W^T` for an input without padding, which the model itself never needs.
fn input_gradient<D: SingleDevice>(
    device: &D,
    layer: &Layer<D>,
    scratch: &Scratch<D>,
    nodes: usize,
    width: usize,
) -> Vec<D::Number> {
    let stride = layer.stride();
    let weight = download(device, &layer.weight.value, layer.weight.stored());
    let projected = download(device, &scratch.projected, nodes * stride);
    let element = |i: usize, k: usize| (0..stride).map(|c| projected[i * stride + c] * weight[k * stride + c]).sum();
    (0..nodes).flat_map(|i| (0..width).map(move |k| (i, k))).map(|(i, k)| element(i, k)).collect()
}

fn download<D: SingleDevice>(device: &D, numbers: &D::Numbers, length: usize) -> Vec<D::Number> {
    let mut found = vec![D::Number::ZERO; length];
    device.download(numbers, &mut found).unwrap();
    found
}

fn upload<D: SingleDevice>(device: &D, numbers: &[D::Number]) -> D::Numbers {
    let mut on_device = device.numbers(numbers.len(), &mut Arena::allocating()).unwrap();
    device.upload(numbers, &mut on_device).unwrap();
    on_device
}

/// Compares training of a two-layer network with Adam: the losses of each step, the final parameters and the
/// logits.
fn check_training<D: SingleDevice>(device: &D, name: &str, file: &Value, tolerance: f64) {
    let labels: Vec<u32> = numbers(&file["labels"]).iter().map(|&c| c as u32).collect();
    let train = numbers(&file["train"]).iter().map(|&n| n as u32).collect();
    let example = example::<D::Number>(file, Labels::Single { classes: 3, of: labels }, train);
    let architecture = Architecture {
        model: ModelKind::Attention { form: form(&file["form"]), self_supervised: true },
        input_features: example.features.columns(),
        classes: 3,
        multi_label: false,
        edge_features: 0,
        network: NetworkSettings {
            layers: 2,
            hidden: 4,
            heads: 2,
            output_heads: 2,
            dropout: 0.0,
            negative_slope: 0.2,
            edge_messages: false,
            label_input: 0.0,
            label_reuse: 0,
            ..NetworkSettings::default()
        },
    };
    let mut network = Network::zeros_on(device, architecture).unwrap();
    network.for_each_parameter(|p| p.set_rows(device, &cast(&file["initial"][&p.name]))).unwrap();
    let config = TrainConfig::default().with(|c| (c.edge_loss.p_e, c.edge_loss.p_n) = (1.0, 0.0));
    let prepared = Prepared::on(device, std::slice::from_ref(&example), architecture, config).unwrap();
    let mut session = Session::new(&prepared, network, 0, true).unwrap();
    let number = |key: &str| file[key].as_f64().unwrap();
    for step in 1..=size(&file["steps"]) {
        session.forward(0, false).unwrap();
        session.set_samples(0, &pairs(&file["negatives"])).unwrap();
        session.backward(0, false, Some(number("lambda_e"))).unwrap();
        let loss = session.loss(0, Some(number("lambda_e"))).unwrap();
        let expected = &file["losses"][step - 1];
        for (key, value) in [("label", loss.label), ("edge", loss.edge), ("total", loss.total)] {
            close(&format!("{name}: step {step} {key} loss"), &[value], &expected[key], tolerance);
        }
        session.update(Adam { lr: number("lr"), lambda_2: number("lambda_2") }).unwrap();
        session.advance().unwrap();
    }
    let network = session.network();
    for p in network.parameters() {
        close(&format!("{name}: final {}", p.name), &p.to_rows(device).unwrap(), &file["final"][&p.name], tolerance);
    }
    close(&format!("{name}: logits"), &network.predict(&example).unwrap(), &file["logits"], tolerance);
}

/// Compares GCN and GraphSAGE with a root weight: output and all gradients. PyTorch Geometric stores weights
/// as [out, in].
fn check_baseline<D: SingleDevice>(device: &D, name: &str, file: &Value, tolerance: f64) {
    let nodes = size(&file["nodes"]);
    let example = example::<D::Number>(file, Labels::Single { classes: 1, of: vec![0; nodes] }, vec![0]);
    let inputs = example.features.columns();
    let r: Vec<D::Number> = cast(&file["r"]);
    let features = r.len() / nodes;
    let (kind, matrices, bias) = match file["layer"].as_str().unwrap() {
        "gcn" => (Convolution::GcnIncoming, vec!["lin.weight"], "bias"),
        "sage" => (Convolution::SageRoot, vec!["lin_l.weight", "lin_r.weight"], "lin_l.bias"),
        other => panic!("{name}: unknown layer {other}"),
    };
    let input = HeadLayout::plain(inputs);
    let shape = Shape { input, heads: 1, features, join: Join::Mean, dropout: 0.0, edges: EdgeInput::default() };
    let mut layer = Layer::convolution(device, 0, shape, kind).unwrap();
    // Converts one [out, in] per matrix to [in, out of the first, out of the second].
    let side_by_side = |values: &Value| -> Vec<f64> {
        let all: Vec<Vec<f64>> = matrices.iter().map(|m| numbers(&values[m])).collect();
        let row = |k: usize| all.iter().flat_map(move |m| (0..features).map(move |f| m[f * inputs + k]));
        (0..inputs).flat_map(row).collect()
    };
    let weight: Vec<D::Number> = side_by_side(&file["parameters"]).into_iter().map(D::Number::from_f64).collect();
    layer.weight.set_rows(device, &weight).unwrap();
    layer.output.bias.set_rows(device, &cast(&file["parameters"][bias])).unwrap();

    let prepared = prepared(device, &example, ModelKind::Convolution(kind));
    let context = prepared.context(0, None);
    let (mut cache, mut scratch) = prepared.memory_of(&layer).unwrap();
    layer.forward(&context, Input::Features, &mut cache).unwrap();
    close(&format!("{name}: out"), &download(device, &cache.output, nodes * features), &file["out"], tolerance);

    let (above, mut record) = (upload(device, &r), device.record(1).unwrap());
    let place = Place { record: &mut record, example: 0 };
    let above = FromAbove::Mean(&above);
    layer.backward(&context, Input::Features, above, None, &mut cache, &mut scratch, place).unwrap();
    let expected = serde_json::to_value(side_by_side(&file["gradients"])).unwrap();
    close(&format!("{name}: weight"), &layer.weight.gradient_to_rows(device).unwrap(), &expected, tolerance);
    let bias_gradient = layer.output.bias.gradient_to_rows(device).unwrap();
    close(&format!("{name}: bias"), &bias_gradient, &file["gradients"][bias], tolerance);
    let d_x = input_gradient(device, &layer, &scratch, nodes, inputs);
    close(&format!("{name}: grad_x"), &d_x, &file["grad_x"], tolerance);
}

/// Returns the name that a parameter of a deep network has in its golden file.
fn name_in_file(name: &str) -> String {
    let Some((layer, part)) = name.strip_prefix("layer").and_then(|rest| rest.split_once('.')) else {
        return match name {
            "input.w" => "w_in",
            "input.b" => "b_in",
            "output.w" => "w_out",
            "output.b" => "b_out",
            other => panic!("unknown parameter {other}"),
        }
        .into();
    };
    let index = layer.parse::<usize>().unwrap() - 1;
    match part {
        "w" | "a" | "b" => format!("convs.{index}.{part}"),
        "skip.w" => format!("skip.{index}"),
        "skip.b" => format!("skip_b.{index}"),
        "norm.weight" => format!("norms.{index}.weight"),
        "norm.bias" => format!("norms.{index}.bias"),
        "norm.mean" => format!("norms.{index}.running_mean"),
        "norm.variance" => format!("norms.{index}.running_var"),
        other => panic!("unknown parameter {other}"),
    }
}

/// Compares training of a deep network with input and output layer, linear residuals and norms: the losses of each
/// step, the final parameters, the running statistics, and the logits in evaluation.
fn check_deep<D: SingleDevice>(device: &D, name: &str, file: &Value, tolerance: f64) {
    let labels: Vec<u32> = numbers(&file["labels"]).iter().map(|&c| c as u32).collect();
    let train = numbers(&file["train"]).iter().map(|&n| n as u32).collect();
    let example = example::<D::Number>(file, Labels::Single { classes: 3, of: labels }, train);
    let model = ModelKind::Attention { form: form(&file["form"]), self_supervised: true };
    let plain = Architecture::new(model, &example);
    let network = NetworkSettings {
        layers: size(&file["layers"]),
        hidden: size(&file["width"]),
        heads: size(&file["heads"]),
        dropout: 0.0,
        residual: Residual::Linear,
        norm: serde_json::from_value(file["norm"].clone()).unwrap(),
        activation: Activation::Relu,
        input_layer: true,
        output_layer: true,
        ..plain.network
    };
    let architecture = Architecture { network, ..plain };
    let mut network = Network::on(device, architecture, 0).unwrap();
    let learned = |name: &str| file["initial"].get(name_in_file(name));
    network
        .for_each_parameter(|p| learned(&p.name).map_or(Ok(()), |initial| p.set_rows(device, &cast(initial))))
        .unwrap();
    let found = network.parameters().filter(|p| p.learned).count();
    assert_eq!(found, file["initial"].as_object().unwrap().len(), "{name}: number of parameters");
    let config = TrainConfig::default().with(|c| (c.edge_loss.p_e, c.edge_loss.p_n) = (1.0, 0.0));
    let prepared = Prepared::on(device, std::slice::from_ref(&example), architecture, config).unwrap();
    let mut session = Session::new(&prepared, network, 0, true).unwrap();
    let number = |key: &str| file[key].as_f64().unwrap();
    for step in 1..=size(&file["steps"]) {
        // Batch norm needs a forward pass of training. The samples of the backward pass are those of the file.
        session.forward(0, true).unwrap();
        session.set_samples(0, &pairs(&file["negatives"])).unwrap();
        session.backward(0, false, Some(number("lambda_e"))).unwrap();
        let loss = session.loss(0, Some(number("lambda_e"))).unwrap();
        let expected = &file["losses"][step - 1];
        for (key, value) in [("label", loss.label), ("edge", loss.edge), ("total", loss.total)] {
            close(&format!("{name}: step {step} {key} loss"), &[value], &expected[key], tolerance);
        }
        session.update(Adam { lr: number("lr"), lambda_2: number("lambda_2") }).unwrap();
        session.advance().unwrap();
    }
    let network = session.network();
    for p in network.parameters() {
        let part = if p.learned { "final" } else { "running" };
        let expected = &file[part][name_in_file(&p.name)];
        close(&format!("{name}: {part} {}", p.name), &p.to_rows(device).unwrap(), expected, tolerance);
    }
    close(&format!("{name}: logits"), &network.predict(&example).unwrap(), &file["logits"], tolerance);
}

/// Compares all golden files on a device.
pub fn check_all<D: SingleDevice>(device: &D, tolerance: f64) {
    files("layer").iter().for_each(|(name, file)| check_layer(device, name, file, tolerance));
    files("training").iter().for_each(|(name, file)| check_training(device, name, file, tolerance));
    files("baseline").iter().for_each(|(name, file)| check_baseline(device, name, file, tolerance));
}

/// Compares the golden files of weights and features of edges.
pub fn check_edges<D: SingleDevice>(device: &D, tolerance: f64) {
    files("edge").iter().for_each(|(name, file)| check_layer(device, name, file, tolerance));
}

/// Compares the golden files of GATv2.
pub fn check_v2<D: SingleDevice>(device: &D, tolerance: f64) {
    files("gatv2").iter().for_each(|(name, file)| check_layer(device, name, file, tolerance));
}

/// Compares the golden files of deep networks.
pub fn check_depth<D: SingleDevice>(device: &D, tolerance: f64) {
    files("deep").iter().for_each(|(name, file)| check_deep(device, name, file, tolerance));
}

#[test]
fn golden_files_match_in_double_precision() {
    check_all(&Cpu::<f64>::default(), 1e-9);
    check_edges(&Cpu::<f64>::default(), 1e-9);
    check_depth(&Cpu::<f64>::default(), 1e-9);
    check_v2(&Cpu::<f64>::default(), 1e-9);
}

#[test]
fn golden_files_match_in_single_precision() {
    check_all(&Cpu::<f32>::default(), 1e-4);
    check_edges(&Cpu::<f32>::default(), 1e-4);
    check_depth(&Cpu::<f32>::default(), 1e-4);
    check_v2(&Cpu::<f32>::default(), 1e-4);
}

#[test]
fn every_golden_file_has_a_known_kind() {
    let kinds = ["layer", "edge", "training", "baseline", "deep", "gatv2"];
    let known: usize = kinds.iter().map(|kind| files(kind).len()).sum();
    assert_eq!(known, all_files().len());
}

//! Form of architectures and configurations in files: that of earlier versions, to the byte.

use supergat_core::{Architecture, TrainConfig};

/// Architectures as earlier versions wrote them.
const ARCHITECTURES: [&str; 5] = [
    r#"{"model":"supergat-mx","input_features":1433,"classes":7,"multi_label":false,"layers":2,"hidden":8,"heads":8,"output_heads":8,"dropout":0.6,"negative_slope":0.2}"#,
    r#"{"model":"gat-go","input_features":5,"classes":3,"multi_label":true,"layers":8,"hidden":16,"heads":4,"output_heads":1,"dropout":0.5,"negative_slope":0.2,"edge_features":3,"edge_messages":true,"label_input":0.5,"label_reuse":2,"residual":"identity","norm":"batch","activation":"relu","input_layer":true,"output_layer":true,"self_loops":false,"attention_dropout":false,"separate_ego":true}"#,
    r#"{"model":"gcn","input_features":3,"classes":2,"multi_label":false,"layers":3,"hidden":64,"heads":1,"output_heads":1,"dropout":0.0,"negative_slope":1e-7,"label_input":0.25,"residual":"linear","norm":"layer","output_layer":true}"#,
    r#"{"model":"gatv2","input_features":3,"classes":2,"multi_label":false,"layers":2,"hidden":8,"heads":8,"output_heads":8,"dropout":0.6,"negative_slope":0.2,"edge_features":4,"self_loops":false}"#,
    r#"{"model":"trees","input_features":34,"classes":4,"multi_label":false,"layers":2,"hidden":64,"heads":1,"output_heads":1,"dropout":0.6,"negative_slope":0.2}"#,
];

/// Configurations as earlier versions wrote them.
const CONFIGURATIONS: [&str; 4] = [
    r#"{"lr":0.01,"lambda_2":0.002,"lambda_e":1.0,"p_e":0.8,"p_n":0.5,"focal_gamma":0.0,"max_epochs":500,"early_stop":null}"#,
    r#"{"lr":0.005,"lambda_2":0.008228864972965771,"lambda_e":11.346574532931719,"p_e":0.6,"p_n":0.3,"focal_gamma":1.5,"checkpointing":true,"max_epochs":490,"early_stop":{"patience":485,"window":484,"loss_change":0.0001,"metric_change":0.000014730327078228388},"patience":7,"select":"macro-f1"}"#,
    r#"{"lr":0.01,"lambda_2":0.002,"lambda_e":1.0,"p_e":0.8,"p_n":0.5,"contrast":{"top_k":4,"negatives_per_edge":5,"lambda_g":1.0,"margin_g":0.3,"boundary":null},"focal_gamma":0.0,"max_epochs":500,"early_stop":null,"patience":100}"#,
    r#"{"lr":0.01,"lambda_2":0.002,"lambda_e":1.0,"p_e":0.8,"p_n":0.5,"contrast":{"top_k":8,"negatives_per_edge":3,"lambda_g":9.167585739010015,"margin_g":0.14761774823352192,"boundary":{"lambda_b":8.924486369581093,"margin_b":0.06583157691096975}},"focal_gamma":0.0,"max_epochs":1,"early_stop":null,"select":"loss"}"#,
];

#[test]
fn files_keep_their_bytes() {
    for text in ARCHITECTURES {
        let architecture: Architecture = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&architecture).unwrap(), text);
    }
    for text in CONFIGURATIONS {
        let config: TrainConfig = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&config).unwrap(), text);
    }
}

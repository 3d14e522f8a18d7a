/** The result of one check of a Kubernetes cluster. */
export interface KubernetesFinding {
  /** The check, such as `permission`. */
  readonly check: string;
  /** `fail`: clients are not served as intended. `skip`: could not be checked. `note`: was not asked for, or has no effect. */
  readonly level: 'ok' | 'warn' | 'fail' | 'note' | 'skip';
  /** The object examined, such as a Service. */
  readonly subject: string;
  readonly text: string;
  /** How to fix it; absent if there is nothing to fix. */
  readonly remedy?: string;
}

/** Receives each finding when it is made. */
export type OnFinding = (finding: KubernetesFinding) => void;
